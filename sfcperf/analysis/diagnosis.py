"""Diagnosis: whether trials are independent repetitions of the same measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics import (
    Dependence,
    Estimate,
    Rules,
    Steadiness,
    dependence,
    find_outliers,
    steadiness,
)
from sfcperf.analysis.statistics.outliers import LEAST, METHOD
from sfcperf.analysis.statistics.serial_dependence import LEAST_TOGETHER
from sfcperf.analysis.statistics.typical import TYPICAL_PERCENTILES, typical_percentiles
from sfcperf.results.percentiles import percentiles
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_series
from sfcperf.results.values import Metric

SAMPLE_PERCENTILES = (5, 25, 50, 75, 90, 95, 99)
LEAST_BIAS = 0.01
"""Smallest share of the mean for which a warm-up is reported."""
_MOST_NAMED = 5
"""Outliers that a warning names; it counts the others."""


@dataclass(frozen=True)
class Diagnosis:
    """What one metric of the valid trials of a scenario shows about their independence."""

    outliers: tuple[str, ...]
    """Ids of the trials that are outliers."""
    outlier_method: str
    """Empty if there were too few trials to look for outliers."""
    order: Dependence
    """Whether the order of the trials matters."""
    within: Steadiness
    """Whether the samples within the trials become steady."""
    samples_n: int
    """Number of samples of all trials."""
    samples: dict[int, float | None]
    """SAMPLE_PERCENTILES -> the percentile of the samples of all trials."""
    typical: dict[int, Estimate]
    """TYPICAL_PERCENTILES -> the percentile within a typical trial; estimates without a value if
    the trials have no series of samples."""
    warnings: tuple[str, ...]
    """What a reader must know about the trials, in sentences."""


def diagnose(
    records: Sequence[TrialRecord], values: Sequence[float], metric: Metric, rules: Rules
) -> Diagnosis:
    """Diagnose one metric of the trials `records`. `values`: the number of each trial, in their
    order."""
    by_time = sorted(range(len(records)), key=lambda i: (records[i].started_at, records[i].round))
    order = dependence([values[i] for i in by_time])
    all_series = [trial_series(records[i], metric.name) for i in by_time]
    series = [trial for trial in all_series if len(trial)]
    within = steadiness(series)
    samples = [value for trial in series for value in trial]
    ids = tuple(records[i].trial_id for i in find_outliers(values))
    return Diagnosis(
        outliers=ids,
        outlier_method=METHOD if len(values) >= LEAST else "",
        order=order,
        within=within,
        samples_n=len(samples),
        samples=dict(percentiles(samples, SAMPLE_PERCENTILES)),
        # A trial without a series leaves the percentiles without a value, so it is passed too.
        typical=typical_percentiles(all_series, TYPICAL_PERCENTILES, rules, metric.tick)
        if samples
        else dict.fromkeys(TYPICAL_PERCENTILES, Estimate(None, None, "")),
        warnings=tuple(_warnings(len(values), ids, order, within)),
    )


def _warnings(
    trials: int, outlying: Sequence[str], order: Dependence, within: Steadiness
) -> Iterator[str]:
    """Yield what a reader must know about the numbers that these trials give, in sentences.
    `trials`: how many there are; `outlying`: ids of the outliers."""
    if order.has_trend:
        yield f"The trials drift with time{_drift(order)} (Mann-Kendall p = {order.trend_p:.2g})."
    elif order.is_autocorrelated:
        effect = (
            "the interval is widened for it"
            if trials >= LEAST_TOGETHER
            else "the interval is narrower than it should be"
        )
        yield (
            f"Successive trials are correlated (lag-1 autocorrelation "
            f"{order.autocorrelation:.2f}, p = {order.autocorrelation_p:.2g}): {effect}."
        )
    if within.state == "never":
        yield (
            f"Within the trials the values do not become steady ({within.method}): longer trials "
            "would give another number."
        )
    elif within.bias_ratio is not None and abs(within.bias_ratio) >= LEAST_BIAS:
        effect = "raises" if within.bias_ratio > 0 else "lowers"
        yield (
            f"The first {within.after} samples of each trial are warm-up ({within.method}), which "
            f"{effect} the mean by {abs(within.bias_ratio):.1%}; they are not excluded."
        )
    if outlying:
        named = ", ".join(outlying[:_MOST_NAMED]) + (" ..." if len(outlying) > _MOST_NAMED else "")
        are = "is an outlier" if len(outlying) == 1 else "are outliers"
        yield f"{len(outlying)} of {trials} trials {are}, but not excluded: {named}."


def _drift(order: Dependence) -> str:
    """Return how far the last rounds are from the first, as the end of a clause; empty if they do
    not differ, or if the ratio is undefined."""
    if not order.drift_ratio:
        return ""
    where = "above" if order.drift_ratio > 0 else "below"
    return f": the last third of the rounds is {abs(order.drift_ratio):.1%} {where} the first"
