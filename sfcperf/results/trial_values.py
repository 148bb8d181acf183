"""A trial's number per metric: the trial is the unit of replication, not the sample."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from sfcperf.results.documents import MAX_MAGNITUDE as MAX
from sfcperf.results.documents import is_number
from sfcperf.results.records import TrialRecord


def trial_means(record: TrialRecord) -> dict[str, float]:
    """Return metric -> mean of its samples in this trial, in the metric's unit.

    Samples within a trial share one deployment, one moment and one state of the machine, so they
    are not independent. Counting each of them would be pseudo-replication (Hurlbert 1984) and
    would make every interval too narrow (docs/explanation/statistics.md).
    """
    values: dict[str, list[float]] = {}
    for sample in record.samples:
        values.setdefault(sample["metric"], []).append(sample["value"])
    return {metric: fmean(numbers) for metric, numbers in values.items()}


def trial_series(record: TrialRecord, metric: str) -> Sequence[float]:
    """Return the values behind the trial's number, in order of time and in the metric's unit: the
    series that the probe kept, or else its samples. Empty if there is only one value."""
    values = record.series.get(metric)
    if not isinstance(values, Sequence):
        if len(record.samples) < 2:
            return []
        values = [sample["value"] for sample in record.samples if sample["metric"] == metric]
    if len(values) < 2:
        return []
    # The first test is a fast path for plain floats: there may be thousands of trials with hundreds
    # of samples.
    numbers = [v for v in values if (type(v) is float and -MAX <= v <= MAX) or is_number(v)]
    return numbers if len(numbers) > 1 else []
