"""Departure: is a reading of the sentinel farther from the others than chance takes it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt
from statistics import median, stdev

from sfcperf.analysis.statistics import t_quantile

CONFIDENCE = 0.99
"""One quiet reading in a hundred is farther than allowed, where only chance decides."""


@dataclass(frozen=True)
class Departure:
    """A reading beside those before it."""

    reference: float | None
    """Median of the good readings before it; None when there is none."""
    change_ratio: float | None
    """From the reference."""
    allowed_ratio: float | None
    """None while the readings before it are too few to judge by."""

    @property
    def departed(self) -> bool:
        """Whether it is farther than allowed, in either direction."""
        return (
            self.change_ratio is not None
            and self.allowed_ratio is not None
            and abs(self.change_ratio) > self.allowed_ratio
        )


def departure(value: float, earlier: Sequence[float], least: int, max_change: float) -> Departure:
    """Judge a reading by the good ones before it, of which there must be `least`.

    Allowed is `max_change` (a ratio), or what chance takes a further reading to, if that is more:
    the two-sided prediction interval t(n-1) * s * sqrt(1 + pi / 2n) around the median of n
    readings, whose own variance is pi/2 times that of a mean (Hahn, Meeker: Statistical Intervals,
    section 4.7; Kendall, Stuart: The Advanced Theory of Statistics, vol. 1, section 10.11). So a
    sentinel that scatters much marks nothing that only its scatter explains.
    """
    if not earlier:
        return Departure(None, None, None)
    reference = median(earlier)
    if reference == 0:
        return Departure(reference, None, None)
    change = (value - reference) / abs(reference)
    n = len(earlier)
    if n < max(2, least):
        return Departure(reference, change, None)
    scatter = t_quantile(n - 1, CONFIDENCE) * stdev(earlier) * sqrt(1 + pi / (2 * n))
    return Departure(reference, change, max(max_change, scatter / abs(reference)))
