"""Percentiles of the samples within a typical trial, with intervals over trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

from sfcperf.analysis.statistics.intervals import Interval, median_interval

LEAST_BEYOND = 3
"""Samples of a trial beyond a percentile; with fewer, the trial hardly knows it."""
TYPICAL_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class TypicalPercentile:
    """The median over trials of each trial's percentile, in the unit of the samples."""

    value: float | None
    """None without trials, and if one of them is too short."""
    interval: Interval | None
    """Of that median, with the trial as the unit of replication."""
    withheld: str
    """Why there is no interval, as a clause; empty if there is one."""


def typical_percentiles(
    trials: Sequence[Sequence[float]], percents: Sequence[int], confidence: float
) -> dict[int, TypicalPercentile]:
    """Percent (1 ... 99) -> the percentile in a typical trial; `trials` are the samples of each.

    Samples of one trial share its circumstances, so a trial counts once, by its own percentile, and
    the median of these has an interval that assumes no distribution between trials. The estimate
    within a trial is median-unbiased (definition 8 of Hyndman & Fan 1996): that of definition 6 is
    above its percentile in most trials, and the median over many trials would be sure of it.
    """
    import numpy as np

    shortest = min(map(len, trials), default=0)
    known = [percent for percent in percents if shortest >= samples_needed(percent)]
    shares = np.array(known) / 100
    rows = [np.quantile(one, shares, method="median_unbiased") for one in trials if known]
    found = {}
    for percent in percents:
        if percent not in known:
            least = samples_needed(percent)
            why = f"it needs {least} samples in each trial, the shortest has {shortest}"
            found[percent] = TypicalPercentile(None, None, why)
            continue
        values = [float(row[known.index(percent)]) for row in rows]
        interval = median_interval(values, confidence)
        why = "" if interval else f"{len(values)} trials are too few at {100 * confidence:g} %"
        found[percent] = TypicalPercentile(median(values), interval, why)
    return found


def samples_needed(percent: int) -> int:
    """Samples that a trial needs for a percentile: 6 for the median, 30 for p90, 300 for p99."""
    return ceil(100 * LEAST_BEYOND / min(percent, 100 - percent))
