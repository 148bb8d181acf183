"""Percentiles of the samples within a typical trial, with intervals over trials."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from sfcperf.analysis.statistics.estimates import Estimate, Rules, estimate_of

LEAST_BEYOND = 3
"""Fewest samples of a trial beyond a percentile; with fewer, the trial hardly determines it."""
TYPICAL_PERCENTILES = (50, 90, 99)


def typical_percentiles(
    trials: Sequence[Sequence[float]],
    percents: Sequence[int],
    rules: Rules,
    tick: float | None = None,
) -> dict[int, Estimate]:
    """Map each percent (1 ... 99) to the percentile in a typical trial, in the unit of the samples.
    The estimate has no value if a trial is too short. `trials`: the samples of each trial; trials
    are in order of time; `tick`: as for `estimate_of`.

    Samples of one trial share its circumstances, so a trial counts once, by its own percentile, and
    the median of these is estimated over trials. Within a trial the estimate is median-unbiased
    (definition 8 of Hyndman & Fan 1996). Definition 6 exceeds the true percentile in most trials,
    and the median over many trials would confirm that error.
    """
    import numpy as np

    shortest = min(map(len, trials), default=0)
    known = [percent for percent in percents if shortest >= samples_needed(percent)]
    shares = np.array(known) / 100
    # If no percentile is known, a trial may be empty, and has no quantiles.
    rows = [np.quantile(trial, shares, method="median_unbiased") for trial in trials if known]
    estimates = {}
    for percent in percents:
        if percent not in known:
            least = samples_needed(percent)
            why = f"it needs {least} samples in each trial, the shortest has {shortest}"
            estimates[percent] = Estimate(None, None, why)
            continue
        values = [float(row[known.index(percent)]) for row in rows]
        estimates[percent] = estimate_of(values, rules, "median", tick=tick)
    return estimates


def samples_needed(percent: int) -> int:
    """Return how many samples a trial needs for a percentile: 6 for the median, 30 for p90, 300 for
    p99."""
    return ceil(100 * LEAST_BEYOND / min(percent, 100 - percent))
