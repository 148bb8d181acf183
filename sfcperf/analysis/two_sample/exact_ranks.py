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
    """Distribution of a statistic with values 0, 1, 2, ... when there is no difference."""

    at_most: NDArray[Any]
    """P(S <= s) at index s."""
    at_least: NDArray[Any]
    """P(S >= s) at index s."""

    def tails(self, s: int) -> tuple[float, float]:
        """P(S <= s) and P(S >= s)."""
        return float(self.at_most[s]), float(self.at_least[s])

    @property
    def least(self) -> float:
        """The least two-sided p: twice the smaller tail's end, 1 at most."""
        ends = [float(tail[tail > 0].min()) for tail in (self.at_most, self.at_least)]
        return min(1.0, 2 * min(ends))


def rank_sum_null(scores: Sequence[int], size: int) -> Null:
    """Distribution of the sum of `size` of these scores if all choices are equally likely."""
    return _rank_sum_null(tuple(sorted(scores)), size)


def signed_rank_null(scores: Sequence[int]) -> Null:
    """Distribution of the sum of the scores with a positive sign if both signs are equally
    likely."""
    import numpy as np

    counts = np.zeros(sum(scores) + 1)
    counts[0] = 1.0
    for score in scores:
        counts[score:] += counts[: len(counts) - score].copy()
    return _of_counts(counts)


def doubled_midranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value; equal values share the mean of their ranks."""
    import numpy as np

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    doubled = 2 * np.cumsum(counts) - counts + 1
    return [int(rank) for rank in doubled[inverse]]


@lru_cache(maxsize=64)
def _rank_sum_null(scores: tuple[int, ...], size: int) -> Null:
    return _of_counts(_subset_counts(scores, size))


def _subset_counts(scores: Sequence[int], size: int) -> NDArray[Any]:
    """Number of subsets of `size` scores (ascending) by their sum.

    Counted in steps of the scores' greatest common divisor above the least score, which halves the
    number of sums if there are no ties, and only up to the sum of the scores so far.
    """
    import numpy as np

    least = scores[0]
    step = gcd(*(score - least for score in scores)) or 1
    places = [(score - least) // step for score in scores]
    most = sum(places[len(places) - size :])
    counts = np.zeros((size + 1, most + 1))
    counts[0, 0] = 1.0
    reached = 0
    for number, place in enumerate(places, start=1):
        reached, rows = min(reached + place, most), min(number, size)
        counts[1 : rows + 1, place : reached + 1] += counts[:rows, : reached + 1 - place].copy()
    found = np.zeros(sum(scores) + 1)
    found[size * least : size * least + step * most + 1 : step] = counts[size]
    return found


def _of_counts(counts: NDArray[Any]) -> Null:
    import numpy as np

    shares = counts / counts.sum()
    return Null(np.minimum(np.cumsum(shares), 1.0), np.minimum(np.cumsum(shares[::-1])[::-1], 1.0))
