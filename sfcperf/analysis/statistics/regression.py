"""A straight line through points, by ordinary least squares."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import TYPE_CHECKING

from sfcperf.analysis.statistics.intervals import Interval, t_quantile

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Array = NDArray[float64]

ROUNDS_METHOD = "jackknife of the rounds, t (slope)"
TRIALS_METHOD = "HC3, t (slope)"
LEAST_ROUNDS = 3
"""Fewest rounds that the slope's error is estimated from: with two, t has one degree of freedom,
and its interval is too wide to be of use."""


@dataclass(frozen=True)
class Line:
    """A fitted line, `y = intercept + slope * x`."""

    slope: float
    intercept: float
    r_squared: float | None
    """Share of the variance of y that the line explains; None if y does not vary or if there are
    only two points, which always lie on a line."""
    slope_interval: Interval | None
    """Confidence interval of the slope; None for n < 3, and if a single round or trial decides
    whether there is a slope at all."""
    n: int
    """Number of points."""


def fit_line(
    x: Sequence[float],
    y: Sequence[float],
    confidence: float,
    rounds: Sequence[Hashable] | None = None,
) -> Line | None:
    """Fit a least-squares line. None if x does not vary (also for fewer than two points), or if the
    slope is beyond what a float can hold.

    The slope's interval assumes neither that all trials scatter equally nor that the trials of one
    round are independent of each other. Its standard error is that of the jackknife: it comes from
    the slopes that leave out one of the `rounds` (one per point). With fewer than LEAST_ROUNDS, or
    without rounds, it comes from the slopes that leave out one trial, which is HC3.
    benchmarks/analysis/truth.py shows how often both cover.
    Sources: Draper & Smith, Applied Regression Analysis (3rd ed.), chapter 1; MacKinnon & White,
    J. of Econometrics 29 (1985), HC3; Bell & McCaffrey, Survey Methodology 28 (2002), the
    jackknife of clusters and the degrees of freedom. Assumes finite numbers, and arguments of equal
    length.
    """
    import numpy as np

    if len(set(x)) < 2:
        return None
    n = len(x)
    if len(set(y)) < 2:
        # Points without scatter show that the slope is 0.
        exact = Interval(0.0, 0.0, confidence, TRIALS_METHOD) if n > 2 else None
        return Line(0.0, float(y[0]), None, exact, n)
    dx, mean_x, exponent_x = _scaled(x)
    dy, mean_y, exponent_y = _scaled(y)
    slope = float(dx @ dy / (dx @ dx))
    with np.errstate(over="ignore", under="ignore"):
        # Factor from a slope of the scaled values to one of the values; 0 if a float cannot hold
        # it.
        unit = float(np.ldexp(1.0, exponent_y - exponent_x))
        intercept = float(np.ldexp(mean_y - slope * mean_x, exponent_y))
    if not (unit and isfinite(slope * unit) and isfinite(intercept)):
        return None
    if n == 2:
        return Line(slope * unit, intercept, None, None, n)
    residuals = dy - slope * dx
    r_squared = 1 - float(residuals @ residuals) / float(dy @ dy)
    by_round = rounds is not None and len(set(rounds)) >= LEAST_ROUNDS
    groups = rounds if by_round and rounds is not None else range(n)
    half_width = _half_width(slope, dx, _slopes_without(dx, dy, groups), confidence, by_round)
    interval = None
    if half_width is not None and isfinite((abs(slope) + half_width) * unit):
        method = ROUNDS_METHOD if by_round else TRIALS_METHOD
        low, high = (slope - half_width) * unit, (slope + half_width) * unit
        interval = Interval(low, high, confidence, method)
    return Line(slope * unit, intercept, r_squared, interval, n)


def _scaled(values: Sequence[float]) -> tuple[Array, float, int]:
    """Return the deviations from the mean, the mean, and an exponent. Deviations and mean are
    divided by two to that exponent. It makes the largest value about 1, so that squares neither
    overflow nor vanish."""
    import numpy as np

    array = np.asarray(values, float)
    exponent = int(np.frexp(np.max(np.abs(array)))[1])
    ratios = np.ldexp(array, -exponent)
    mean = ratios.mean()
    deviations = ratios - mean
    # The mean is rounded. Where all values are close to each other that error is visible, and the
    # mean of the deviations removes it.
    return deviations - deviations.mean(), float(mean), exponent


def _slopes_without(dx: Array, dy: Array, groups: Sequence[Hashable]) -> Array:
    """Return, for each group, the slope through the points of all other groups; NaN where x does
    not vary among these. `dx` and `dy`: deviations from the means; `groups`: the group of each
    point."""
    import numpy as np

    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    labels = [numbers[group] for group in groups]

    def rest(values: Array) -> Array:
        """Return, for each group, the sum of the values outside it."""
        sums: Array = values.sum() - np.bincount(labels, values)
        return sums

    n, sx, sy = rest(np.ones_like(dx)), rest(dx), rest(dy)
    with np.errstate(divide="ignore", invalid="ignore"):
        sxx, sxy = rest(dx * dx) - sx * sx / n, rest(dx * dy) - sx * sy / n
        return np.where(sxx > _NOTHING * (dx @ dx), sxy / sxx, np.nan)


_NOTHING = 1e-13
"""Share of the sum of squares below which x counts as constant: rounding leaves so much."""


def _half_width(
    slope: float, dx: Array, without: Array, confidence: float, by_round: bool
) -> float | None:
    """Return the half-width of the slope's interval; None if one of the slopes is undefined. `dx`:
    the deviations of x from its mean; `without`: the slopes without each group, as
    `_slopes_without` returns them; `by_round`: whether the groups are rounds (else trials).
    `fit_line` has the sources."""
    import numpy as np

    count = len(without)
    squares = float(np.sum((without - slope) ** 2))
    if not isfinite(squares):
        return None
    if by_round:
        # The root is the jackknife's standard error. If every round has the same x, the slope is
        # the mean of the rounds' slopes, and this is Student's t of that mean: exact for normal
        # trials.
        return t_quantile(count - 1, confidence) * sqrt(squares * (count - 1) / count)
    # HC3's variance is the sum itself, without the jackknife's factor (count - 1) / count.
    return t_quantile(_freedom(dx), confidence) * sqrt(squares)


def _freedom(dx: Array) -> float:
    """Return the degrees of freedom of HC3's variance, by Satterthwaite's approximation for
    residuals that scatter equally (Bell & McCaffrey 2002)."""
    import numpy as np

    sxx = dx @ dx
    residual = np.eye(len(dx)) - 1 / len(dx) - np.outer(dx, dx) / sxx
    weighted = (dx / sxx / np.diag(residual)) ** 2 * residual
    return float(np.trace(weighted) ** 2 / np.sum(weighted * weighted.T))
