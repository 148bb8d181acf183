"""Wilcoxon's tests with the Hodges-Lehmann shift and its interval.

Source: Hollander, Wolfe & Chicken, Nonparametric Statistical Methods (3rd ed.), sections 3.1-3.3
(signed rank) and 4.1-4.3 (rank sum). They are the tests of the SFCMon paper, section 3.3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from math import floor, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.analysis.two_sample.exact_ranks import (
    doubled_midranks,
    rank_sum_null,
    signed_rank_null,
)
from sfcperf.analysis.two_sample.shift import ShiftTest

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_EXACT = 100
"""Most trials (of both groups, or pairs) for which the distribution is exact. For more it is the
normal one, corrected for ties and continuity; there the two agree in three digits."""


class _RankTest(ShiftTest):
    """Base of Wilcoxon's tests: p comes from the tails of a rank statistic, and the estimate
    (Hodges-Lehmann) from the ordered shifts of pairs of values."""

    @cached_property
    @abstractmethod
    def _shifts(self) -> NDArray[Any]:
        """Shifts of pairs of values, ascending. Their median is the estimate; the interval is what
        remains if as many are cut off at either end as the statistic's distribution allows."""

    @abstractmethod
    def _tails(self, bound: float) -> tuple[float, float]:
        """Return the probabilities of a statistic as low and as high as that observed, if the true
        shift were `bound`."""

    @property
    def shift(self) -> float:
        """Median of the shifts."""
        import numpy as np

        return float(np.median(self._shifts))

    @cached_property
    def p(self) -> float:
        """Twice the smaller tail."""
        return min(1.0, 2 * min(self._tails(0.0)))

    def p_above(self, bound: float) -> float:
        """Upper tail of the statistic: small if the shift is above `bound`."""
        return self._tails(bound)[1]

    def p_below(self, bound: float) -> float:
        """Lower tail of the statistic: small if the shift is below `bound`."""
        return self._tails(bound)[0]

    def _interval(
        self, at_most: NDArray[Any] | None, variance: float, confidence: float
    ) -> tuple[float, float] | None:
        """Return the k-th shifts from both ends; None if even the outermost shifts are too narrow.
        `at_most`: lower half of the statistic's cumulative distribution without ties, which gives
        k; None: k comes from the normal approximation with this `variance`."""
        if at_most is not None:
            # The factor lets values count that exceed the limit by rounding only.
            k = int((2 * at_most <= (1 - confidence) * (1 + 1e-9)).sum())
        else:
            from scipy.special import ndtri

            half = float(ndtri((1 + confidence) / 2)) * sqrt(variance)
            k = max(0, floor(len(self._shifts) / 2 - half + 0.5))
        return None if k == 0 else (float(self._shifts[k - 1]), float(self._shifts[-k]))


class RankSum(_RankTest):
    """Wilcoxon's rank-sum test of two independent groups (Mann-Whitney U)."""

    name: ClassVar[str] = "Wilcoxon rank-sum"
    estimator: ClassVar[str] = "Hodges-Lehmann"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        self._a, self._b = list(a), list(b)
        self._exact = len(a) + len(b) <= MOST_EXACT

    @cached_property
    def _shifts(self) -> NDArray[Any]:
        """All differences between a trial of b and one of a, ascending."""
        import numpy as np

        return np.sort(np.subtract.outer(np.asarray(self._b), np.asarray(self._a)).ravel())

    @cached_property
    def p_least(self) -> float:
        """Smallest possible p: 2 / C(n+m, n) without ties, 1 if all values are equal."""
        if not self._exact:
            return 0.0 if len({*self._a, *self._b}) > 1 else 1.0
        scores = doubled_midranks([*self._a, *self._b])
        return rank_sum_null(scores, len(self._b)).least

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval of the shift, from the ordered differences; None for too few
        trials."""
        n, m = len(self._a), len(self._b)
        at_most = None
        if self._exact:
            # Doubled ranks have even sums only; the least sum is U = 0.
            null = rank_sum_null(range(2, 2 * (n + m) + 1, 2), m)
            at_most = null.at_most[m * (m + 1) :: 2][: n * m // 2]
        return self._interval(at_most, n * m * (n + m + 1) / 12, confidence)

    def _tails(self, bound: float) -> tuple[float, float]:
        """Return both tails of the rank sum of b after `bound` was added to a."""
        moved = [value + bound for value in self._a]
        if not self._exact:
            from scipy.stats import mannwhitneyu

            low, high = (
                mannwhitneyu(self._b, moved, alternative=side, method="asymptotic").pvalue
                for side in ("less", "greater")
            )
            return float(low), float(high)
        scores = doubled_midranks([*moved, *self._b])
        null = rank_sum_null(scores, len(self._b))
        return null.tails(sum(scores[len(moved) :]))


class SignedRank(_RankTest):
    """Wilcoxon's signed-rank test of pairs. Differences of 0 are treated by Pratt's method: they
    are ranked with the others, and then left out."""

    name: ClassVar[str] = "Wilcoxon signed-rank"
    estimator: ClassVar[str] = "Hodges-Lehmann of pairs"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        self._d = [y - x for x, y in zip(a, b, strict=True)]

    @cached_property
    def _shifts(self) -> NDArray[Any]:
        """Walsh averages, ascending: means of all pairs of differences, also of each with
        itself."""
        import numpy as np

        d = np.asarray(self._d)
        i, j = np.triu_indices(len(d))
        return np.sort((d[i] + d[j]) / 2)

    @cached_property
    def p_least(self) -> float:
        """Smallest possible p: 2 / 2^n for n differences that are not 0."""
        zeros = sum(d == 0 for d in self._d)
        return float(min(1.0, 2.0 ** (1 - len(self._d) + zeros)))

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval of the shift, from the Walsh averages; None for too few pairs."""
        n = len(self._d)
        at_most = None
        if n <= MOST_EXACT:
            null = signed_rank_null(range(1, n + 1))
            at_most = null.at_most[: len(self._shifts) // 2]
        return self._interval(at_most, n * (n + 1) * (2 * n + 1) / 24, confidence)

    def _tails(self, bound: float) -> tuple[float, float]:
        """Return both tails of the sum of positive ranks, after `bound` was subtracted from the
        differences. If all are then 0, nothing speaks against the bound: both are 1."""
        moved = [d - bound for d in self._d]
        if not any(moved):
            return 1.0, 1.0
        if len(moved) > MOST_EXACT:
            from scipy.stats import wilcoxon

            low, high = (
                wilcoxon(moved, zero_method="pratt", alternative=side, method="asymptotic",
                         correction=True).pvalue
                for side in ("less", "greater")
            )  # fmt: skip
            return float(low), float(high)
        scores = doubled_midranks([abs(d) for d in moved])
        null = signed_rank_null([s for s, d in zip(scores, moved, strict=True) if d])
        return null.tails(sum(score for score, d in zip(scores, moved, strict=True) if d > 0))
