"""How much wider an interval has to be because successive trials resemble each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from sfcperf.analysis.statistics.scaling import scaled

ALPHA = 0.1
"""One-sided p below which a positive lag-1 correlation counts as more than chance. It is low
because a test that is corrected without need loses power."""
LEAST = 6
"""Fewest trials of each series; fewer do not show dependence."""
LEAST_TOGETHER = 10
"""Fewest trials of all series together. In fewer, dependence and chance look alike, and a
correction would widen one in five intervals of independent trials threefold."""
_MOST = 0.9
"""Largest coefficient that is corrected for. Few trials cannot tell a larger one from it, and its
correction would hide a difference of any size."""
_LEAST_FREEDOM = 3.0
"""Fewest degrees of freedom that a correction leaves: fewer would hide a difference of any size."""


@dataclass(frozen=True)
class VarianceInflation:
    """How much less n dependent trials tell than n independent ones."""

    factor: float
    """Factor by which standard errors exceed those of independent trials; 1 for independence."""
    freedom: float
    """Degrees of freedom that are left for the dispersion."""


def stretch(series: Sequence[Sequence[float]], alpha: float = ALPHA) -> VarianceInflation:
    """Estimate by how much the dependence of successive trials widens an interval. `series`: one,
    or both sides of a comparison, each in order of time; `alpha`: the one-sided p below which a
    positive lag-1 correlation counts as more than chance.

    The trials are taken for a first-order autoregressive process, whose mean has a variance
    (1 + r) / (1 - r) times larger (Bayley & Hammersley, Supplement to the Journal of the Royal
    Statistical Society 8, 1946). r is the lag-1 coefficient of all series together, without its
    bias at small n (Kendall, Biometrika 41, 1954), plus one standard error, because too small a
    correction is worse than too large a one.
    """
    from scipy.special import ndtr

    count, total = len(series), sum(map(len, series))
    independent = VarianceInflation(1.0, total - count)
    coefficients = [_lag_one(values) for values in series if len(values) >= LEAST]
    if not coefficients or len(coefficients) < count or total < LEAST_TOGETHER:
        return independent
    share = count / total
    r = (
        sum(
            coefficient * len(values)
            for coefficient, values in zip(coefficients, series, strict=True)
        )
        / total
    )
    # Of independent trials, r has a mean of about -share, and a standard error of about
    # sqrt(total - 2 * count) / total.
    z = (r + share) * total / sqrt(total - 2 * count)
    if float(ndtr(-z)) > alpha:
        return independent
    # Of dependent trials with the coefficient c, r has a mean of about c - share * (1 + 4 * c).
    unbiased = min((r + share) / (1 - 4 * share), _MOST)
    r = min(unbiased + sqrt((1 - unbiased**2) / total), _MOST)
    ratio = (1 + r) / (1 - r)
    return VarianceInflation(sqrt(ratio), max(total / ratio - count, _LEAST_FREEDOM))


def _lag_one(values: Sequence[float]) -> float:
    """Return the lag-1 autocorrelation of a series; 0 for equal values."""
    deviations = scaled(values)
    if deviations is None:
        return 0.0
    centred = deviations - deviations.mean()
    return float(centred[1:] @ centred[:-1] / (centred @ centred))
