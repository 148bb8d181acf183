"""A test of how far the candidate is shifted against the baseline: the contract of all methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar


class ShiftTest(ABC):
    """Bound to the values of both sides; shifts are candidate - baseline, in their scale."""

    name: ClassVar[str]
    """Of the test."""
    estimator: ClassVar[str]
    """Of the shift, and how its interval is made."""

    @property
    @abstractmethod
    def shift(self) -> float:
        """The estimate."""

    @property
    @abstractmethod
    def p(self) -> float | None:
        """Two-sided, against no shift; None when the values do not allow a test."""

    @property
    @abstractmethod
    def p_least(self) -> float:
        """The least p that so many trials, tied as these are, can give."""

    @abstractmethod
    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Of the shift; None when there are too few trials for this confidence."""

    @abstractmethod
    def p_above(self, bound: float) -> float | None:
        """One-sided: small when the shift is above `bound`."""

    @abstractmethod
    def p_below(self, bound: float) -> float | None:
        """One-sided: small when the shift is below `bound`."""
