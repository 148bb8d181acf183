"""Description of one metric's trial values: centre, dispersion, extremes, intervals."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfcperf.analysis.bootstrap import bca_interval
from sfcperf.analysis.intervals import (
    Interval,
    interval_around,
    median_interval,
    relative_half_width,
)
from sfcperf.analysis.normality import Centre, Normality, centre, normality
from sfcperf.results.percentiles import percentiles

TRIAL_PERCENTILES = (5, 25, 75, 95)


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
    bca_interval: Interval | None
    """Of the mean; None when the values look normal, or are too few for it."""
    percentiles: Mapping[int, float | None]
    """Of TRIAL_PERCENTILES, those that the values are enough for."""
    normality: Normality
    centre: Centre
    """Which of mean and median to look at."""


def describe(
    values: Sequence[float], confidence: float, first_look: int | None = None
) -> Description:
    """Describe finite values (magnitude up to 1e100), one per trial; every n, 0 included, has a
    description. `first_look` as in `mean_interval`."""
    shape = normality(values)
    of_median = median_interval(values, confidence)
    n = len(values)
    mean = float(statistics.mean(values)) if values else None
    stdev = float(statistics.stdev(values)) if n > 1 else None
    of_mean = (
        None
        if mean is None or stdev is None
        else interval_around(mean, stdev, n, confidence, first_look)
    )
    return Description(
        n=n,
        mean=mean,
        median=float(statistics.median(values)) if values else None,
        stdev=stdev,
        min=float(min(values)) if values else None,
        max=float(max(values)) if values else None,
        mean_interval=of_mean,
        median_interval=of_median,
        relative_half_width=(
            None if of_mean is None or mean is None else relative_half_width(mean, of_mean)
        ),
        bca_interval=bca_interval(values, confidence) if shape.rejected else None,
        percentiles=percentiles(values, TRIAL_PERCENTILES),
        normality=shape,
        centre=centre(shape, n, of_median, sequential=first_look is not None),
    )
