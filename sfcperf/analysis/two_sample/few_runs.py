"""Tests of a shift between two groups of runs, of which there are few.

Each value stands for a run: it is the mean of its trials. Kalibera & Jones, "Rigorous benchmarking
in reasonable time" (ISMM 2013), section 9, test the values of the highest level alone, because
these contain the dispersion of the levels below as far as it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import ClassVar

from sfcperf.analysis.two_sample.combined import CombinedTest
from sfcperf.analysis.two_sample.shift import ShiftTest, mean, variance
from sfcperf.analysis.two_sample.student import Student, WelchT

_TINY = 1e-12
"""Smallest p-value; smaller ones are not told apart."""


class CochranCox(Student):
    """Compares Welch's statistic with a limit that is correct for few values too.

    The limit is the mean of both sides' limits of t, weighted by the variances of their means.
    Welch's own test estimates its degrees of freedom: with 2 values against 5 it finds differences
    that do not exist in up to 10 % of cases instead of 5 %. Source: Cochran & Cox, Experimental
    Designs (2nd ed., 1957), section 4.14.
    """

    name: ClassVar[str] = "Cochran-Cox t"
    estimator: ClassVar[str] = "Cochran-Cox t (means)"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        of_a, of_b = variance(a) / len(a), variance(b) / len(b)
        both = of_a + of_b
        # Weight of the limit of a; without dispersion any weight would do.
        self._share = of_a / both if both else 1.0
        self._freedoms = (len(a) - 1, len(b) - 1)
        super().__init__(mean(b) - mean(a), sqrt(both), min(self._freedoms))

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the ends shift ± limit · standard error."""
        half = self._limit((1 + confidence) / 2) * self._error
        return self._shift - half, self._shift + half

    def _limit(self, level: float) -> float:
        """Return the weighted mean of both sides' quantiles of t at this level."""
        from scipy.special import stdtrit

        a, b = (float(stdtrit(freedom, level)) for freedom in self._freedoms)
        return self._share * a + (1 - self._share) * b

    def _tail(self, distance: float) -> float:
        """Return P(statistic <= distance / standard error). That is the level at which the limit
        has this size. The limit has no inverse in closed form, so the level is found numerically,
        up to 1 - _TINY."""
        from scipy.optimize import brentq

        away = abs(distance) / self._error
        if self._limit(1 - _TINY) <= away:
            upper = 1 - _TINY
        else:
            upper = float(brentq(lambda level: self._limit(level) - away, 0.5, 1 - _TINY))
        return upper if distance > 0 else 1 - upper


class RunLevelT(CombinedTest):
    """Tests two groups of at least two runs each by Welch's t.

    Cochran & Cox's limit joins it where Welch's is too low: for groups of different sizes, and for
    two runs.
    """

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        members: list[ShiftTest] = [WelchT(a, b)]
        if len(a) != len(b) or len(a) == 2:
            members.append(CochranCox(a, b))
        super().__init__(members)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Names of the members; it says that the values are runs."""
        return f"{' and '.join(m.name.removesuffix(' t') for m in self._members)} t of runs"


class OneAgainstRuns(Student):
    """Tests a single run against a group of at least two runs, by Student's t. The dispersion of a
    single run cannot be seen, so it is taken to be that of the group. `more` is variance that the
    single run's mean has beyond that, for instance because it has fewer rounds."""

    name: ClassVar[str] = "t of one run against several"
    estimator: ClassVar[str] = "t (one run against several)"

    def __init__(self, a: Sequence[float], b: Sequence[float], more: float = 0.0) -> None:
        group = a if len(b) == 1 else b
        error = sqrt(variance(group) * (1 + 1 / len(group)) + max(0.0, more))
        super().__init__(mean(b) - mean(a), error, len(group) - 1)
