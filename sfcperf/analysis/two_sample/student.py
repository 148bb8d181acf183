"""Student's t tests of a shift of means: Welch's for groups, the paired one for rounds.

Source: Welch, "The generalization of 'Student's' problem when several different population
variances are involved", Biometrika 34, 1947.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import ClassVar

from sfcperf.analysis.two_sample.shift import ShiftTest, mean, variance


class Student(ShiftTest):
    """Tests a shift of means, of which the standard error is known, by Student's t. `freedom`:
    degrees of freedom of that error."""

    def __init__(self, shift: float, error: float, freedom: float) -> None:
        self._shift, self._error, self._freedom = shift, error, freedom

    @property
    def shift(self) -> float:
        """Difference of the means."""
        return self._shift

    @property
    def p(self) -> float | None:
        """Two-sided p. Without dispersion it is 1 for no shift, and None for a shift, which then
        has nothing to be compared with."""
        if not self._error:
            return 1.0 if not self._shift else None
        return min(1.0, 2 * min(self._tail(-self._shift), self._tail(self._shift)))

    @property
    def p_least(self) -> float:
        """0, because a t test can give any p; without dispersion 1."""
        return 0.0 if self._error else 1.0

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the ends shift ± t · standard error."""
        from scipy.special import stdtrit

        half = float(stdtrit(self._freedom, (1 + confidence) / 2)) * self._error
        return self._shift - half, self._shift + half

    def p_above(self, bound: float) -> float | None:
        """Upper tail of t: small if the shift is above `bound`. Without dispersion it is None for a
        shift; for no shift it is 1 if the bound is 0 or more, else 0."""
        if not self._error:
            return None if self._shift else float(bound >= 0)
        return self._tail(bound - self._shift)

    def p_below(self, bound: float) -> float | None:
        """Lower tail of t: small if the shift is below `bound`. Without dispersion it is None for a
        shift; for no shift it is 1 if the bound is 0 or less, else 0."""
        if not self._error:
            return None if self._shift else float(bound <= 0)
        return self._tail(self._shift - bound)

    def _tail(self, distance: float) -> float:
        """Return P(statistic <= distance / standard error): the lower tail of t."""
        from scipy.special import stdtr

        return float(stdtr(self._freedom, distance / self._error))


def welch_freedom(variances: Sequence[float], sizes: Sequence[int]) -> float:
    """Return the degrees of freedom of the sum of two variances of means (Welch-Satterthwaite).
    `sizes`: numbers of values behind them."""
    both = sum(variances)
    # Shares are squared, because squares of the largest and smallest values do not fit a float.
    shares = [of / both for of in variances] if both else (1.0, 0.0)
    return 1 / sum(share**2 / (n - 1) for share, n in zip(shares, sizes, strict=True))


class WelchT(Student):
    """Welch's t test of two independent groups, whose dispersions may differ."""

    name: ClassVar[str] = "Welch t"
    estimator: ClassVar[str] = "Welch t (means)"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        of_each = [variance(x) / len(x) for x in (a, b)]
        freedom = welch_freedom(of_each, (len(a), len(b)))
        super().__init__(mean(b) - mean(a), sqrt(sum(of_each)), freedom)


class PairedT(Student):
    """Student's t test of the differences of pairs."""

    name: ClassVar[str] = "paired t"
    estimator: ClassVar[str] = "paired t (means)"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        d = [y - x for x, y in zip(a, b, strict=True)]
        super().__init__(mean(d), sqrt(variance(d) / len(d)), len(d) - 1)
