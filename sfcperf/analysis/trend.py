"""Trend over the rounds: the Mann-Kendall test."""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_MOST_EXACT = 33
"""Values up to which the distribution is exact (if none are equal), as in scipy."""
_MOST_PAIRS = 500
"""Values up to which all pairs are looked at; beyond, scipy's sorting is faster."""


def mann_kendall_p(values: NDArray[float64]) -> float:
    """Two-sided p of a monotonic trend of values in order of time, which are not all equal.

    That of Kendall's tau between values and time (Mann 1945), ties corrected (Kendall, Rank
    Correlation Methods, 4th ed., sections 4.7 and 5.8). scipy.stats.kendalltau, to which it is
    equal, checks its arguments ten times as long as it computes, in each of thousands of rows.
    """
    import numpy as np
    from scipy import special, stats

    n = len(values)
    if n > _MOST_PAIRS:
        return float(stats.kendalltau(np.arange(n), values).pvalue)
    later, earlier = values[None, :], values[:, None]
    above = int(np.count_nonzero(np.triu(later > earlier, 1)))
    below = int(np.count_nonzero(np.triu(later < earlier, 1)))
    pairs = n * (n - 1) // 2
    tied = above + below < pairs
    if not tied and (n <= _MOST_EXACT or min(above, below) <= 1):
        return _exact_p(n, min(above, below))
    equal = np.unique(values, return_counts=True)[1]
    ties = int((equal * (equal - 1) * (2 * equal + 5)).sum())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    return float(2 * special.ndtr(-abs(above - below) / sqrt(variance)))


def _exact_p(n: int, inversions: int) -> float:
    """Two-sided p of as few (or as many) inversions in a random order of n different values."""
    return min(1.0, 2 * _at_most(n, inversions))


@cache
def _at_most(n: int, inversions: int) -> float:
    """Share of the orders of n values with at most so many inversions: each value in turn adds
    0, 1, ... inversions, as many as there are values before it, all alike likely."""
    import numpy as np

    shares = np.zeros(inversions + 1)
    shares[0] = 1.0
    for before in range(1, n):
        sums = shares.cumsum()
        sums[before + 1 :] -= sums[: -before - 1].copy()
        shares = sums / (before + 1)
    return float(shares.sum())
