"""From a trial's samples to the one number per metric that counts: the trial is replicated."""

from __future__ import annotations

from statistics import fmean

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
