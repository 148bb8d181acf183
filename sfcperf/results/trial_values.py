"""From a trial's samples to the one number per metric that counts: the trial is replicated."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from sfcperf.results.documents import MAX_MAGNITUDE as MAX
from sfcperf.results.documents import is_number
from sfcperf.results.records import TrialRecord


def trial_means(record: TrialRecord) -> dict[str, float]:
    """Metric -> mean of its samples in this trial, in the metric's unit.

    Samples within a trial share one deployment, one moment and one state of the machine, so they
    are not independent; counting each of them would be pseudo-replication (Hurlbert 1984) and
    would make every interval too narrow. docs/explanation/statistics.md says more.
    """
    values: dict[str, list[float]] = {}
    for sample in record.samples:
        values.setdefault(sample["metric"], []).append(sample["value"])
    return {metric: fmean(numbers) for metric, numbers in values.items()}


def trial_series(record: TrialRecord, metric: str) -> Sequence[float]:
    """What the trial's number was made of, in order of time and in the metric's unit: the series
    that the probe kept, else its samples; empty when that is but one number."""
    values = record.series.get(metric)
    if not isinstance(values, Sequence):
        if len(record.samples) < 2:
            return []
        values = [sample["value"] for sample in record.samples if sample["metric"] == metric]
    if len(values) < 2:
        return []
    # Of thousands of trials with hundreds of samples: most are plain floats, asked for first.
    numbers = [v for v in values if (type(v) is float and -MAX <= v <= MAX) or is_number(v)]
    return numbers if len(numbers) > 1 else []
