"""Percentiles of the samples within a typical trial, with intervals over trials."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from sfcperf.analysis.statistics.estimates import Estimate, Rules, estimate_of

LEAST_BEYOND = 3
"""Samples of a trial beyond a percentile; with fewer, the trial hardly knows it."""
TYPICAL_PERCENTILES = (50, 90, 99)


def typical_percentiles(
    trials: Sequence[Sequence[float]],
    percents: Sequence[int],
    rules: Rules,
    tick: float | None = None,
) -> dict[int, Estimate]:
    """Percent (1 ... 99) -> the percentile in a typical trial, in the unit of the samples, or None
    if a trial is too short for it. `trials`: the samples of each, in order of time; `tick`: as for
    `estimate_of`.

    Samples of one trial share its circumstances, so a trial counts once, by its own percentile, and
    the median of these is estimated as that of any trials. The estimate
    within a trial is median-unbiased (definition 8 of Hyndman & Fan 1996): that of definition 6 is
    above its percentile in most trials, and the median over many trials would be sure of it.
    """
    import numpy as np

    shortest = min(map(len, trials), default=0)
    known = [percent for percent in percents if shortest >= samples_needed(percent)]
    shares = np.array(known) / 100
    rows = [np.quantile(trial, shares, method="median_unbiased") for trial in trials if known]
    found = {}
    for percent in percents:
        if percent not in known:
            least = samples_needed(percent)
            why = f"it needs {least} samples in each trial, the shortest has {shortest}"
            found[percent] = Estimate(None, None, why)
            continue
        values = [float(row[known.index(percent)]) for row in rows]
        found[percent] = estimate_of(values, rules, "median", tick=tick)
    return found


def samples_needed(percent: int) -> int:
    """Samples that a trial needs for a percentile: 6 for the median, 30 for p90, 300 for p99."""
    return ceil(100 * LEAST_BEYOND / min(percent, 100 - percent))
