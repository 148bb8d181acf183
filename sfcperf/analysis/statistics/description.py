"""Description of one metric's trial values: centre, dispersion, extremes, intervals."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics.estimates import Estimate, Rules, estimate_of
from sfcperf.analysis.statistics.intervals import relative_half_width
from sfcperf.analysis.statistics.shares import EventCounts
from sfcperf.results.percentiles import percentiles

TRIAL_PERCENTILES = (5, 25, 75, 95)


@dataclass(frozen=True)
class Description:
    """Centre, dispersion and extremes of values, in their unit, except `n` and
    `relative_half_width` (a ratio)."""

    n: int
    mean: Estimate
    median: Estimate
    stdev: float | None
    """Sample standard deviation (divisor n - 1); None for n < 2."""
    min: float | None
    """None, like `max`, for n = 0."""
    max: float | None
    relative_half_width: float | None
    """Half-width of the declared centre's interval over the centre; None if it is undefined."""
    percentiles: Mapping[int, float | None]
    """TRIAL_PERCENTILES -> the percentile; None for those that need more values."""


def describe(
    values: Sequence[float],
    rules: Rules,
    *,
    tick: float | None = None,
    counted: EventCounts | None = None,
) -> Description:
    """Describe any number of finite values (magnitude up to 1e100), one per trial and in order of
    time. `tick` and `counted` are those of `estimate_of`."""
    mean, median = (
        estimate_of(values, rules, centre, tick=tick, counted=counted)
        for centre in ("mean", "median")
    )
    declared = mean if rules.centre == "mean" else median
    return Description(
        n=len(values),
        mean=mean,
        median=median,
        stdev=float(statistics.stdev(values)) if len(values) > 1 else None,
        min=float(min(values)) if values else None,
        max=float(max(values)) if values else None,
        relative_half_width=relative_half_width(values, declared.value, declared.interval),
        percentiles=percentiles(values, TRIAL_PERCENTILES),
    )
