"""Exact null distributions of Wilcoxon's rank statistics, ties included.

By the shift algorithm (Streitberg & Röhmel, "Exact distributions for permutation and rank tests",
Statistical Software Newsletter 12, 1986), which counts all splits, or all signs, by the sum of
ranks. scipy has exact distributions only without ties, statsmodels has none. Scores are doubled
midranks, which are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Null:
    """Null distribution of a statistic with values 0, 1, 2, ...: that without a difference."""

    at_most: NDArray[Any]
    """P(S <= s) at index s."""
    at_least: NDArray[Any]
    """P(S >= s) at index s."""

    def tails(self, s: int) -> tuple[float, float]:
        """Return P(S <= s) and P(S >= s)."""
        return float(self.at_most[s]), float(self.at_least[s])

    @property
    def least(self) -> float:
        """The least two-sided p that is possible: twice the probability of the rarer extreme value
        of S, at most 1."""
        ends = [float(tail[tail > 0].min()) for tail in (self.at_most, self.at_least)]
        return min(1.0, 2 * min(ends))


def rank_sum_null(scores: Sequence[int], size: int) -> Null:
    """Return the distribution of the sum of `size` of these scores if all choices of them are
    equally likely (the null hypothesis of Wilcoxon's rank sum)."""
    return _rank_sum_null(tuple(sorted(scores)), size)


def signed_rank_null(scores: Sequence[int]) -> Null:
    """Return the distribution of the sum of the scores with a positive sign if both signs of each
    are equally likely (the null hypothesis of Wilcoxon's signed rank), by the shift algorithm."""
    import numpy as np

    counts = np.zeros(sum(scores) + 1)
    counts[0] = 1.0
    for score in scores:
        counts[score:] += counts[: len(counts) - score].copy()
    return _of_counts(counts)


def doubled_midranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value; equal values share the mean of their ranks, which
    doubling makes an integer."""
    import numpy as np

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    doubled = 2 * np.cumsum(counts) - counts + 1
    return [int(rank) for rank in doubled[inverse]]


@lru_cache(maxsize=64)
def _rank_sum_null(scores: tuple[int, ...], size: int) -> Null:
    """Compute `rank_sum_null` for sorted scores. The tuple makes calls with the same ranks hit the
    cache."""
    return _of_counts(_subset_counts(scores, size))


def _subset_counts(scores: Sequence[int], size: int) -> NDArray[Any]:
    """Count the subsets of `size` scores (ascending) by their sum: the result has at index s how
    many have the sum s. This is the shift algorithm of Streitberg & Röhmel (1986): each score in
    turn joins the subsets of the scores before it.

    Sums are counted in steps of the greatest common divisor of the scores' distances from the least
    one, which halves their number if there are no ties, and only up to the sum of the scores so
    far.
    """
    import numpy as np

    least = scores[0]
    step = gcd(*(score - least for score in scores)) or 1
    places = [(score - least) // step for score in scores]
    most = sum(places[len(places) - size :])
    # counts[k, s]: number of subsets of k scores whose places sum up to s.
    counts = np.zeros((size + 1, most + 1))
    counts[0, 0] = 1.0
    reached = 0
    for number, place in enumerate(places, start=1):
        reached, rows = min(reached + place, most), min(number, size)
        counts[1 : rows + 1, place : reached + 1] += counts[:rows, : reached + 1 - place].copy()
    by_sum = np.zeros(sum(scores) + 1)
    by_sum[size * least : size * least + step * most + 1 : step] = counts[size]
    return by_sum


def _of_counts(counts: NDArray[Any]) -> Null:
    """Return the distribution whose frequencies are `counts`, by value of the statistic. Rounding
    may put a cumulated share above 1, hence the minimum."""
    import numpy as np

    shares = counts / counts.sum()
    return Null(np.minimum(np.cumsum(shares), 1.0), np.minimum(np.cumsum(shares[::-1])[::-1], 1.0))
