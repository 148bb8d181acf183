"""Tests of a shift between two groups of runs, of which there are few.

Each value is the centre of a run. Kalibera & Jones, "Rigorous benchmarking in reasonable time"
(ISMM 2013), section 9, test the values of the highest level alone: those of the levels below are
in them with their dispersion, as far as it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import ClassVar

from sfcperf.analysis.two_sample.combined import CombinedTest
from sfcperf.analysis.two_sample.shift import ShiftTest, mean, variance
from sfcperf.analysis.two_sample.student import Student, WelchT

_TINY = 1e-12
"""p-values below are not told apart."""


class CochranCox(Student):
    """Welch's statistic against a limit that holds for few values, too.

    The limit is the mean of both sides' limits of t, weighted by their variances of the mean.
    Welch's degrees of freedom are estimated: with 2 values against 5 he finds differences in up
    to 10 % instead of 5 %. Source: Cochran & Cox, Experimental Designs (2nd ed., 1957), section
    4.14.
    """

    name: ClassVar[str] = "Cochran-Cox t"
    estimator: ClassVar[str] = "Cochran-Cox t (means)"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        of_a, of_b = variance(a) / len(a), variance(b) / len(b)
        both = of_a + of_b
        self._share = of_a / both if both else 1.0
        self._freedoms = (len(a) - 1, len(b) - 1)
        super().__init__(mean(b) - mean(a), sqrt(both), min(self._freedoms))

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Shift ± limit · standard error."""
        half = self._limit((1 + confidence) / 2) * self._error
        return self._shift - half, self._shift + half

    def _limit(self, level: float) -> float:
        from scipy.special import stdtrit

        a, b = (float(stdtrit(freedom, level)) for freedom in self._freedoms)
        return self._share * a + (1 - self._share) * b

    def _tail(self, distance: float) -> float:
        """The level whose limit is the distance."""
        from scipy.optimize import brentq

        away = abs(distance) / self._error
        if self._limit(1 - _TINY) <= away:
            upper = 1 - _TINY
        else:
            upper = float(brentq(lambda level: self._limit(level) - away, 0.5, 1 - _TINY))
        return upper if distance > 0 else 1 - upper


class RunLevelT(CombinedTest):
    """Two groups of at least two runs each.

    Welch's t, and Cochran and Cox's limit where Welch's is too low: for groups of different sizes,
    and for two runs.
    """

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        members: list[ShiftTest] = [WelchT(a, b)]
        if len(a) != len(b) or len(a) == 2:
            members.append(CochranCox(a, b))
        super().__init__(members)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Says what the values are."""
        return f"{' and '.join(m.name.removesuffix(' t') for m in self._members)} t of runs"


class OneAgainstRuns(Student):
    """A single run against a group of at least two, as dispersed as they are: its dispersion cannot
    be seen. `more` is a further variance of the single run's centre, which has fewer rounds."""

    name: ClassVar[str] = "t of one run against several"
    estimator: ClassVar[str] = "t (one run against several)"

    def __init__(self, a: Sequence[float], b: Sequence[float], more: float = 0.0) -> None:
        group = a if len(b) == 1 else b
        error = sqrt(variance(group) * (1 + 1 / len(group)) + max(0.0, more))
        super().__init__(mean(b) - mean(a), error, len(group) - 1)
