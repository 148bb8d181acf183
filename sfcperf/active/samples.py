"""Samples by name: their units come from the metrics that a probe declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sfcperf.results.values import Metric, Sample


def samples(metrics: Iterable[Metric], values: Mapping[str, float | None]) -> tuple[Sample, ...]:
    """A sample per metric that has a value, in the order of `metrics`.

    None: the trial gave no number for it (the jitter of a single reply).
    """
    return tuple(
        Sample(metric.name, metric.unit, float(value))
        for metric in metrics
        if (value := values[metric.name]) is not None
    )
