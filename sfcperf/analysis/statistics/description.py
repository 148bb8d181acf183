"""Description of one metric's trial values: centre, dispersion, extremes, intervals."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics.bootstrap import bca_interval
from sfcperf.analysis.statistics.intervals import (
    Interval,
    interval_around,
    median_interval,
    relative_half_width,
)
from sfcperf.analysis.statistics.normality import Centre, Normality, centre, normality
from sfcperf.results.percentiles import percentiles

TRIAL_PERCENTILES = (5, 25, 75, 95)


@dataclass(frozen=True)
class Description:
    """All in the unit of the values, except `n` and `relative_half_width` (a ratio)."""

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
    """Of the mean; None if the values look normal or are too few."""
    percentiles: Mapping[int, float | None]
    """TRIAL_PERCENTILES; None for those that need more values."""
    normality: Normality
    centre: Centre
    """Which of mean and median to look at."""


def describe(
    values: Sequence[float], confidence: float, first_look: int | None = None
) -> Description:
    """Describe any number of finite values (magnitude up to 1e100), one per trial; `first_look` as
    in `mean_interval`."""
    shape = normality(values)
    of_median = median_interval(values, confidence)
    n = len(values)
    mean = float(statistics.mean(values)) if values else None
    stdev = float(statistics.stdev(values)) if n > 1 else None
    of_mean = relative = None
    if mean is not None and stdev is not None:
        of_mean = interval_around(mean, stdev, n, confidence, first_look)
        relative = relative_half_width(mean, of_mean)
    return Description(
        n=n,
        mean=mean,
        median=float(statistics.median(values)) if values else None,
        stdev=stdev,
        min=float(min(values)) if values else None,
        max=float(max(values)) if values else None,
        mean_interval=of_mean,
        median_interval=of_median,
        relative_half_width=relative,
        bca_interval=bca_interval(values, confidence) if shape.rejected else None,
        percentiles=percentiles(values, TRIAL_PERCENTILES),
        normality=shape,
        centre=centre(shape, n, of_median, sequential=first_look is not None),
    )
