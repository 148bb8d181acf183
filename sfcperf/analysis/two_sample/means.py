"""The ratio of the means, as a shift of logarithms.

The mean moves both if most trials shift and if a few trials are in a slow mode; ranks see only the
former. The interval is that of the delta method with Welch's degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import ClassVar

from sfcperf.analysis.two_sample.shift import mean, variance
from sfcperf.analysis.two_sample.student import Student, welch_freedom


class MeanRatio(Student):
    """Tests the logarithm of the ratio of the means of two independent groups of positive
    values."""

    name: ClassVar[str] = "t of the log ratio of means"
    estimator: ClassVar[str] = "ratio of means (t)"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        # Variance of the logarithm of each mean, by the delta method.
        of_each = [variance(x) / len(x) / mean(x) ** 2 for x in (a, b)]
        freedom = welch_freedom(of_each, (len(a), len(b)))
        super().__init__(log(mean(b) / mean(a)), sqrt(sum(of_each)), freedom)


class PairedMeanRatio(Student):
    """Tests the logarithm of the ratio of the means of paired positive values. What both values of
    a pair have in common cancels in the standard error."""

    name: ClassVar[str] = "paired t of the log ratio of means"
    estimator: ClassVar[str] = "ratio of means (paired t)"

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        mean_a, mean_b = mean(a), mean(b)
        # To first order, the mean of these differences varies as the logarithm of the ratio.
        d = [y / mean_b - x / mean_a for x, y in zip(a, b, strict=True)]
        super().__init__(log(mean_b / mean_a), sqrt(variance(d) / len(d)), len(d) - 1)
