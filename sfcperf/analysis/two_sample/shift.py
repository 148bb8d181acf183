"""The contract of all tests of how far the candidate is shifted against the baseline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval."""

    value: float
    low: float | None
    """None, like `high`, if there are too few trials for an interval."""
    high: float | None
    confidence: float
    method: str
    """Name of the method that gives value and interval."""


class ShiftTest(ABC):
    """Tests whether the candidate's values are shifted against the baseline's, and estimates the
    shift.

    Most tests are made from the values of the baseline (`a`) and of the candidate (`b`), some from
    other tests. Shifts are candidate minus baseline, in the unit of the values. Nothing raises for
    finite values."""

    name: ClassVar[str]
    """Name of the test."""
    estimator: ClassVar[str]
    """Name of the method that estimates the shift and its interval."""

    @property
    @abstractmethod
    def shift(self) -> float:
        """The estimated shift."""

    @property
    @abstractmethod
    def p(self) -> float | None:
        """Two-sided p of no shift; None if the values allow no test."""

    @property
    @abstractmethod
    def p_least(self) -> float:
        """The smallest p that so many trials, with their ties, can give."""

    @abstractmethod
    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Confidence interval of the shift; None if there are too few trials for it."""

    @abstractmethod
    def p_above(self, bound: float) -> float | None:
        """Return the one-sided p that is small if the shift is above `bound`; None if the values
        allow no test."""

    @abstractmethod
    def p_below(self, bound: float) -> float | None:
        """Return the one-sided p that is small if the shift is below `bound`; None if the values
        allow no test."""

    def tost_p(self, low: float, high: float) -> float | None:
        """Return the p of two one-sided tests, the larger of both: the shift is shown to lie
        between `low` and `high` if it is at most alpha. None if the values allow no test.

        Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power
        approach for assessing the equivalence of average bioavailability", Journal of
        Pharmacokinetics and Biopharmaceutics 15, 1987. With ranks: Wellek, Testing Statistical
        Hypotheses of Equivalence and Noninferiority (2nd ed.), section 6.2.
        """
        above, below = self.p_above(low), self.p_below(high)
        return None if above is None or below is None else max(above, below)

    def beyond_p(self, low: float, high: float) -> float | None:
        """Return the one-sided p that is small if the shift is outside `low` to `high`, on the side
        where it was seen. None if the values allow no test."""
        return self.p_above(high) if self.shift > 0 else self.p_below(low)


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, in the unit. If all values are equal it is exactly that value, so
    that rounding does not make two such sides differ."""
    return fmean(values) if min(values) != max(values) else values[0]


def variance(values: Sequence[float]) -> float:
    """Sample variance (divisor n - 1) of at least two values, in the unit squared.

    Exactly 0 for equal values, which tests rely on: rounding of the mean must not add dispersion.
    """
    import numpy as np

    return float(np.var(values, ddof=1)) if min(values) != max(values) else 0.0


def stdev(values: Sequence[float]) -> float:
    """Square root of `variance`, in the unit."""
    return float(variance(values) ** 0.5)
