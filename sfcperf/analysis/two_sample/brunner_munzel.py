"""Brunner & Munzel's test: a rank test that holds when the dispersions of the sides differ.

Source: Brunner & Munzel, "The nonparametric Behrens-Fisher problem: asymptotic theory and a small-
sample approximation", Biometrical Journal 42, 2000. scipy's `brunnermunzel` has no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.analysis.two_sample.shift import ShiftTest

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BrunnerMunzel(ShiftTest):
    """Tests whether values of one group tend to exceed those of another, independent one; each
    group has at least two values."""

    name: ClassVar[str] = "Brunner-Munzel"
    estimator: ClassVar[str] = "Hodges-Lehmann"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        import numpy as np

        self._a, self._b = np.sort(np.asarray(a, float)), np.sort(np.asarray(b, float))

    @cached_property
    def _shifts(self) -> NDArray[Any]:
        """All differences between a value of b and one of a, ascending."""
        import numpy as np

        return np.sort(np.subtract.outer(self._b, self._a).ravel())

    @property
    def shift(self) -> float:
        """Median of all differences between a value of b and one of a."""
        import numpy as np

        return float(np.median(self._shifts))

    @property
    def p(self) -> float:
        """Twice the smaller tail."""
        return min(1.0, 2 * min(self.p_above(0.0), self.p_below(0.0)))

    @property
    def p_least(self) -> float:
        """0: sides that do not overlap have no variance of ranks, and the test then gives 0."""
        return 0.0

    def interval(self, confidence: float) -> tuple[float, float]:
        """The shifts that the test does not reject, found by bisection among the differences."""
        tail = (1 - confidence) / 2
        # `low` is the first difference that p_above does not reject, `high` the first that p_below
        # rejects.
        low = self._first(lambda bound: self.p_above(bound) > tail)
        high = self._first(lambda bound: self.p_below(bound) <= tail)
        last = len(self._shifts) - 1
        return float(self._shifts[min(low, last)]), float(self._shifts[max(high - 1, 0)])

    def p_above(self, bound: float) -> float:
        """Upper tail of t: small if the shift is above `bound`."""
        return self._tail(-1, bound)

    def p_below(self, bound: float) -> float:
        """Lower tail of t: small if the shift is below `bound`."""
        return self._tail(1, bound)

    def _tail(self, sign: int, bound: float) -> float:
        """Return the lower tail of t (`sign` 1), or its upper tail (`sign` -1), for b against a
        moved by `bound`."""
        from scipy.special import stdtr

        statistic, freedom = self._statistic(bound)
        return float(stdtr(freedom, sign * statistic))

    def _statistic(self, bound: float) -> tuple[float, float]:
        """Return t and its degrees of freedom for b against a moved by `bound`. t is infinite if
        the sides do not overlap: the ranks then have no variance."""
        a, b = self._a + bound, self._b
        n, m = len(a), len(b)
        # Share of the other group that is below each value.
        below_b, below_a = _below(b, a) / n, _below(a, b) / m
        excess = float(below_b.mean()) - 0.5
        of_a, of_b = float(below_a.var(ddof=1)) / n, float(below_b.var(ddof=1)) / m
        both = of_a + of_b
        if not both:
            return (inf if excess > 0 else -inf if excess < 0 else 0.0), n + m - 2
        freedom = both**2 / (of_a**2 / (n - 1) + of_b**2 / (m - 1))
        return excess / sqrt(both), freedom

    def _first(self, holds: Callable[[float], bool]) -> int:
        """Return the index of the first difference for which `holds`, by bisection: `holds` must
        also hold for all later ones. The number of differences if it holds for none."""
        low, high = 0, len(self._shifts)
        while low < high:
            middle = (low + high) // 2
            if holds(float(self._shifts[middle])):
                high = middle
            else:
                low = middle + 1
        return low


def _below(values: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return for each value how many of the (sorted) others are below it; ties count half."""
    import numpy as np

    left, right = (np.searchsorted(others, values, side) for side in ("left", "right"))
    counts: NDArray[Any] = (left + right) / 2
    return counts
