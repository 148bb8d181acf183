"""Description of one metric's trial values: centre, dispersion, extremes, intervals."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from sfcperf.analysis.intervals import (
    Interval,
    mean_interval,
    median_interval,
    relative_half_width,
)


@dataclass(frozen=True)
class Description:
    """All in the unit of the values, but `n` and `relative_half_width` (a ratio)."""

    n: int
    mean: float | None
    """None for n = 0, like median, min and max."""
    median: float | None
    stdev: float | None
    """Sample standard deviation (divisor n - 1); None for n < 2."""
    min: float | None
    max: float | None
    mean_interval: Interval | None
    """None for n < 2."""
    median_interval: Interval | None
    """None when n is too small for the confidence."""
    relative_half_width: float | None
    """Of the mean's interval; None for n < 2 or when it is undefined."""


def describe(values: Sequence[float], confidence: float) -> Description:
    """Describe finite values (magnitude up to 1e100), one per trial; every n, 0 included, has a
    description."""
    if not values:
        return Description(0, None, None, None, None, None, None, None, None)
    mean = float(statistics.mean(values))
    interval = mean_interval(values, confidence)
    return Description(
        n=len(values),
        mean=mean,
        median=float(statistics.median(values)),
        stdev=float(statistics.stdev(values)) if len(values) > 1 else None,
        min=float(min(values)),
        max=float(max(values)),
        mean_interval=interval,
        median_interval=median_interval(values, confidence),
        relative_half_width=None if interval is None else relative_half_width(mean, interval),
    )
