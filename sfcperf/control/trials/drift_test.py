"""Drift test: is a reading of the sentinel farther from earlier ones than chance explains?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt
from statistics import median, stdev

from sfcperf.analysis.statistics import t_quantile

CONFIDENCE = 0.99
"""Where only chance decides, one reading in a hundred of a quiet machine is farther than
allowed."""


@dataclass(frozen=True)
class DriftTest:
    """Result of comparing a reading with those before it."""

    reference: float | None
    """Median of the good readings before it; None when there is none."""
    change_ratio: float | None
    """How far the reading is from the reference, as a ratio of it; None if there is no reference,
    or if it is 0."""
    allowed_ratio: float | None
    """How far the reading may be from the reference, as a ratio of it; None while there are too few
    readings before it to compare with."""

    @property
    def departed(self) -> bool:
        """Whether the reading is farther from the reference than allowed, in either direction."""
        return (
            self.change_ratio is not None
            and self.allowed_ratio is not None
            and abs(self.change_ratio) > self.allowed_ratio
        )


def drift_test(value: float, earlier: Sequence[float], least: int, max_change: float) -> DriftTest:
    """Compare a reading with the good ones before it. With fewer than `least` of them, or fewer
    than 2, the change is computed and not judged.

    The reading may differ by `max_change` (a ratio), or by what chance explains if that is more.
    Chance is the two-sided prediction interval t(n-1) * s * sqrt(1 + pi / 2n) around the median of
    n readings; the variance of a median is pi/2 times that of a mean (Hahn, Meeker: Statistical
    Intervals, section 4.7; Kendall, Stuart: The Advanced Theory of Statistics, vol. 1, section
    10.11). So a sentinel with large scatter does not depart by its scatter alone.
    """
    if not earlier:
        return DriftTest(None, None, None)
    reference = median(earlier)
    if reference == 0:
        return DriftTest(reference, None, None)
    change = (value - reference) / abs(reference)
    n = len(earlier)
    if n < max(2, least):
        return DriftTest(reference, change, None)
    scatter = t_quantile(n - 1, CONFIDENCE) * stdev(earlier) * sqrt(1 + pi / (2 * n))
    return DriftTest(reference, change, max(max_change, scatter / abs(reference)))
