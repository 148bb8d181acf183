"""Whether the order of the trials matters: autocorrelation and trend over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, sqrt
from statistics import median
from typing import TYPE_CHECKING

from sfcperf.analysis.statistics.permutations import permutation_p
from sfcperf.analysis.statistics.scaling import scaled

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.01
"""Probability of a warning about trials whose order does not matter, per row and test."""
LEAST = 5
"""Fewest trials that are tested; fewer cannot show dependence at any usual level."""
_MOST_SHUFFLED = 500
"""Most values whose autocorrelation is tested by permutation; more get a normal approximation."""
_MOST_EXACT = 33
"""Most values for which Mann-Kendall's p is exact (without ties), as in scipy."""
_MOST_PAIRS = 500
"""Most values whose pairs are all compared; of more, scipy's sorting is faster."""


@dataclass(frozen=True)
class Dependence:
    """Dependence of values on their predecessors and on time."""

    autocorrelation: float | None
    """Autocorrelation at lag 1, from -1 to 1; None for fewer than LEAST values, or if all are
    equal. The other attributes are then None too."""
    autocorrelation_p: float | None
    """One-sided p of a positive autocorrelation, which makes intervals too narrow. A negative one
    makes them too wide, and is not reported."""
    trend_p: float | None
    """Two-sided p of a trend (Mann-Kendall)."""
    drift_ratio: float | None
    """Median of the last third over that of the first, minus 1; None if the first is 0 or so small
    that the ratio is not finite."""

    @property
    def has_trend(self) -> bool:
        """Whether the values rise or fall with time."""
        return self.trend_p is not None and self.trend_p < ALPHA

    @property
    def is_autocorrelated(self) -> bool:
        """Whether values are similar to their predecessors."""
        return self.autocorrelation_p is not None and self.autocorrelation_p < ALPHA


def dependence(values: Sequence[float]) -> Dependence:
    """Test finite values in order of time for autocorrelation and for a trend.

    Autocorrelation is tested by permutation of the lag-1 coefficient, which is exact at small n
    where Ljung-Box is not; beyond 500 values by its normal approximation (Box, Jenkins & Reinsel,
    Time Series Analysis, section 2.1.6). The test of a trend is Mann-Kendall's (Mann 1945).
    """
    from scipy import special

    deviations = scaled(values)
    n = len(values)
    if deviations is None or n < LEAST:
        return Dependence(None, None, None, None)
    coefficient = float(_lag_one(deviations[None, :])[0])
    if n <= _MOST_SHUFFLED:
        p = permutation_p(deviations[None, :], _lag_one)
    else:
        p = float(special.ndtr(-(coefficient + 1 / n) * n**0.5))
    return Dependence(coefficient, p, mann_kendall_p(deviations), _drift(values))


def _lag_one(rows: NDArray[float64]) -> NDArray[float64]:
    """Return the lag-1 autocorrelation of each row: the sum of products of successive deviations
    over the sum of their squares."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    products = (centred[:, :-1] * centred[:, 1:]).sum(axis=1)
    coefficients: NDArray[float64] = products / (centred * centred).sum(axis=1)
    return coefficients


def _drift(values: Sequence[float]) -> float | None:
    """Return the median of the last third over that of the first, minus 1; None if the first is 0
    or so small that the ratio is not finite."""
    third = max(1, len(values) // 3)
    first, last = float(median(values[:third])), float(median(values[-third:]))
    ratio = last / first - 1 if first else None
    return ratio if ratio is not None and isfinite(ratio) else None


def mann_kendall_p(values: NDArray[float64]) -> float:
    """Return the two-sided p of a monotonic trend of values in order of time, not all equal.

    It is the p of Kendall's tau between values and time (Mann 1945), corrected for ties (Kendall,
    Rank Correlation Methods, 4th ed., sections 4.7 and 5.8). The result equals that of
    scipy.stats.kendalltau, whose argument checks take ten times as long as the computation, which
    would count in thousands of rows.
    """
    import numpy as np
    from scipy.special import ndtr

    n = len(values)
    if n > _MOST_PAIRS:
        from scipy.stats import kendalltau

        return float(kendalltau(np.arange(n), values).pvalue)
    later, earlier = values[None, :], values[:, None]
    # Pairs of values of which the later one is larger, and smaller.
    above = int(np.count_nonzero(np.triu(later > earlier, 1)))
    below = int(np.count_nonzero(np.triu(later < earlier, 1)))
    tied = above + below < n * (n - 1) // 2
    # As in scipy, p is exact for few values, and if all pairs but one have the same direction.
    if not tied and (n <= _MOST_EXACT or min(above, below) <= 1):
        return min(1.0, 2 * _at_most_inversions(n, min(above, below)))
    equal = np.unique(values, return_counts=True)[1]
    ties = int((equal * (equal - 1) * (2 * equal + 5)).sum())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    return float(2 * ndtr(-abs(above - below) / sqrt(variance)))


@cache
def _at_most_inversions(n: int, inversions: int) -> float:
    """Return the share of all orders of n different values that have at most so many inversions.
    They are counted value by value: each adds 0, 1, ... inversions, up to the number of values
    before it, with equal probability."""
    import numpy as np

    shares = np.zeros(inversions + 1)
    shares[0] = 1.0
    for before in range(1, n):
        # After this step shares[i] is the mean of the shares of i - before ... i inversions.
        sums = shares.cumsum()
        sums[before + 1 :] -= sums[: -before - 1].copy()
        shares = sums / (before + 1)
    return float(shares.sum())
