"""Wilcoxon's tests with the Hodges-Lehmann shift and the interval that belongs to each.

Source: Hollander, Wolfe & Chicken, Nonparametric Statistical Methods (3rd ed.), sections 3.1-3.3
(signed rank) and 4.1-4.3 (rank sum). They are the tests of the SFCMon paper, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import floor, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.analysis.comparison import exact
from sfcperf.analysis.comparison.shift import ShiftTest

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_EXACT = 100
"""Trials of both sides up to which the distribution is exact; beyond it is normal, with ties and
continuity corrected, and the two agree in three digits."""


class RankSum(ShiftTest):
    """Of two independent groups (Mann-Whitney U)."""

    name: ClassVar[str] = "Wilcoxon rank-sum"
    estimator: ClassVar[str] = "Hodges-Lehmann"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        self._a, self._b = list(a), list(b)
        self._exact = len(a) + len(b) <= MOST_EXACT

    @cached_property
    def _differences(self) -> NDArray[Any]:
        import numpy as np

        return np.sort(np.subtract.outer(np.asarray(self._b), np.asarray(self._a)).ravel())

    @property
    def shift(self) -> float:
        """Median of all differences between a trial of b and one of a."""
        import numpy as np

        return float(np.median(self._differences))

    @cached_property
    def p(self) -> float:
        """Twice the smaller tail."""
        return min(1.0, 2 * min(self._tails(0.0)))

    @cached_property
    def p_least(self) -> float:
        """2 / C(n+m, n) without ties."""
        if not self._exact:
            return 0.0 if len({*self._a, *self._b}) > 1 else 1.0
        scores = exact.doubled_midranks([*self._a, *self._b])
        return exact.rank_sum_null(scores, len(self._b)).least

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """The k-th differences from either end, k by the distribution without ties."""
        n, m = len(self._a), len(self._b)
        if self._exact:
            # Doubled rank sum -> U counted from 0.
            null = exact.rank_sum_null(range(2, 2 * (n + m) + 1, 2), m)
            k = _rank(null.at_most[m * (m + 1) :: 2][: n * m // 2], confidence)
        else:
            k = _normal_rank(n * m, n * m * (n + m + 1) / 12, confidence)
        return _ends(self._differences, k)

    def p_above(self, bound: float) -> float:
        """Of the rank sum after `bound` was added to the baseline."""
        return self._tails(bound)[1]

    def p_below(self, bound: float) -> float:
        """As `p_above`."""
        return self._tails(bound)[0]

    def _tails(self, bound: float) -> tuple[float, float]:
        """P(rank sum of b as low as this), P(as high as this)."""
        moved = [value + bound for value in self._a]
        if not self._exact:
            from scipy.stats import mannwhitneyu

            low, high = (
                mannwhitneyu(self._b, moved, alternative=side, method="asymptotic").pvalue
                for side in ("less", "greater")
            )
            return float(low), float(high)
        scores = exact.doubled_midranks([*moved, *self._b])
        null = exact.rank_sum_null(scores, len(self._b))
        seen = sum(scores[len(moved) :])
        return null.below(seen), null.above(seen)


class SignedRank(ShiftTest):
    """Of pairs, zero differences after Pratt (ranked, then left out)."""

    name: ClassVar[str] = "Wilcoxon signed-rank"
    estimator: ClassVar[str] = "Hodges-Lehmann of pairs"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        self._d = [y - x for x, y in zip(a, b, strict=True)]

    @cached_property
    def _walsh(self) -> NDArray[Any]:
        import numpy as np

        d = np.asarray(self._d)
        i, j = np.triu_indices(len(d))
        return np.sort((d[i] + d[j]) / 2)

    @property
    def shift(self) -> float:
        """Median of the means of all pairs of differences, each with itself too."""
        import numpy as np

        return float(np.median(self._walsh))

    @cached_property
    def p(self) -> float:
        """Twice the smaller tail."""
        return min(1.0, 2 * min(self._tails(0.0)))

    @cached_property
    def p_least(self) -> float:
        """2 / 2^n when no difference is 0."""
        zeros = sum(d == 0 for d in self._d)
        return float(min(1.0, 2.0 ** (1 - len(self._d) + zeros)))

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """The k-th Walsh averages from either end, k by the distribution without ties."""
        n = len(self._d)
        if n <= MOST_EXACT:
            null = exact.signed_rank_null(range(1, n + 1))
            k = _rank(null.at_most[: len(self._walsh) // 2], confidence)
        else:
            k = _normal_rank(len(self._walsh), n * (n + 1) * (2 * n + 1) / 24, confidence)
        return _ends(self._walsh, k)

    def p_above(self, bound: float) -> float:
        """Of the ranks of the differences less `bound`."""
        return self._tails(bound)[1]

    def p_below(self, bound: float) -> float:
        """As `p_above`."""
        return self._tails(bound)[0]

    def _tails(self, bound: float) -> tuple[float, float]:
        """P(sum of positive ranks as low as this), P(as high as this)."""
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
        scores = exact.doubled_midranks([abs(d) for d in moved])
        null = exact.signed_rank_null([s for s, d in zip(scores, moved, strict=True) if d])
        seen = sum(score for score, d in zip(scores, moved, strict=True) if d > 0)
        return null.below(seen), null.above(seen)


def _rank(tails: NDArray[Any], confidence: float) -> int:
    """How many ends may be cut off each side; equal up to rounding is enough."""
    return int((2 * tails <= (1 - confidence) * (1 + 1e-9)).sum())


def _normal_rank(count: int, variance: float, confidence: float) -> int:
    from scipy.special import ndtri

    return max(0, floor(count / 2 - float(ndtri((1 + confidence) / 2)) * sqrt(variance) + 0.5))


def _ends(ordered: NDArray[Any], k: int) -> tuple[float, float] | None:
    return None if k == 0 else (float(ordered[k - 1]), float(ordered[-k]))
