"""Correlation coefficients with intervals and p-values, plain and given a grouping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from sfcperf.counts import count_text

if TYPE_CHECKING:
    import numpy

CoefficientName = Literal["pearson", "spearman"]

FEWEST = 4
"""Fewest values: with 3, Fisher's interval does not exist, because its variance is 1 / (n - 3)."""

EXACT_UP_TO = 8
"""Values up to which all orders are tried for Spearman's p: 8! = 40,320."""


@dataclass(frozen=True)
class Coefficient:
    """A correlation coefficient, without unit, between -1 and 1."""

    r: float
    ci_low: float
    ci_high: float
    p: float
    """Two-sided, against no correlation; not adjusted."""
    method: str
    """Methods of interval and p."""


def correlation(
    name: CoefficientName,
    x: Sequence[float],
    y: Sequence[float],
    confidence: float,
    groups: Sequence[Any] | None = None,
) -> Coefficient | str:
    """Return the coefficient of x and y, equally long sequences of finite numbers, or the reason
    why there is none. The reason calls x the telemetry and y the metric.

    Pearson: Fisher's z interval (Fisher 1921), p by t with n - 2 degrees of freedom. Spearman: the
    same z with Bonett & Wright's (2000) variance (1 + r^2 / 2) / (n - 3); p exact, over all orders
    of the ranks, for n <= 8 (ties included), by t above (Kendall & Gibbons 1990).

    With `groups`, one per value, it is the partial correlation given the groups: the correlation of
    the deviations from the groups' means (Spearman: of the ranks among all values), with one degree
    of freedom less for each group beyond the first (Fisher 1924). Groups with one member say
    nothing and are left out.
    """
    import numpy as np
    from scipy.special import ndtri
    from scipy.stats import rankdata

    if groups is None:
        groups = [0] * len(x)
    else:
        sizes = Counter(groups)
        members = [i for i, group in enumerate(groups) if sizes[group] > 1]
        x, y, groups = ([values[i] for i in members] for values in (x, y, groups))
    # Degrees of freedom that the means of the groups take.
    taken = max(len(set(groups)) - 1, 0)
    n = len(x) - taken
    if n < FEWEST:
        condition = f" after {taken + 1} scenarios' means are taken out" if taken > 0 else ""
        return f"{count_text(n, 'independent trial')}{condition}: at least {FEWEST} are needed"
    values = [np.asarray(x, float), np.asarray(y, float)]
    if name == "spearman":
        values = [rankdata(variable) for variable in values]
    left, right = (_centred(variable, groups) for variable in values)
    if left is None or right is None:
        return "the metric does not vary" if right is None else "the telemetry does not vary"
    r = float(np.clip(left @ right, -1.0, 1.0))
    variance = (1 + r * r / 2 if name == "spearman" else 1.0) / (n - 3)
    # For r = +-1 z is infinite, and tanh gives an interval of width 0.
    z = np.arctanh(r) if abs(r) < 1 else r * np.inf
    half = ndtri((1 + confidence) / 2) * variance**0.5
    if name == "spearman" and taken == 0 and n <= EXACT_UP_TO:
        p, how = _exact_p(left, right), "exact p"
    else:
        p, how = _t_p(r, n - 2), "t"
    return Coefficient(r, float(np.tanh(z - half)), float(np.tanh(z + half)), p, f"Fisher z, {how}")


def _centred(values: numpy.ndarray, groups: Sequence[Any]) -> numpy.ndarray | None:
    """Return the deviations from the groups' means, scaled to length 1, so that the product of two
    such vectors is their correlation. None if there is no variation within groups."""
    import numpy as np

    codes = np.unique(groups, return_inverse=True)[1]
    # Values are scaled first: squares of very small and very large ones do not fit a float.
    scale = float(np.max(np.abs(values)))
    if scale == 0:
        return None
    scaled = values / scale
    means = np.bincount(codes, scaled) / np.bincount(codes)
    centred = scaled - means[codes]
    # Rounding gives a constant tiny deviations, which are not variation.
    if float(np.max(np.abs(centred))) <= 8 * np.finfo(float).eps:
        return None
    centred = centred / np.max(np.abs(centred))
    unit: numpy.ndarray = centred / np.sqrt(centred @ centred)
    return unit


def _t_p(r: float, freedom: int) -> float:
    """Return the two-sided p of r = 0 by t = r * sqrt(freedom / (1 - r^2)); 0 for +-1."""
    from scipy.special import stdtr

    if abs(r) >= 1:
        return 0.0
    return float(2 * stdtr(freedom, -abs(r) * (freedom / (1 - r * r)) ** 0.5))


def _exact_p(x: numpy.ndarray, y: numpy.ndarray) -> float:
    """Return the two-sided p by permutation: the share of all orders of y whose correlation with x
    is at least as far from 0 as the observed one. x and y are from `_centred`."""
    import numpy as np

    shuffled = np.abs(y[_orders(len(y))] @ x)
    # The tolerance counts orders whose correlation is smaller by rounding only.
    return float(np.mean(shuffled >= abs(x @ y) - 1e-12))


@cache
def _orders(n: int) -> numpy.ndarray:
    """Return all permutations of 0 ... n - 1, one per row; cached, because pairs share them."""
    from itertools import permutations

    import numpy as np

    return np.array(list(permutations(range(n))), dtype=np.int8)
