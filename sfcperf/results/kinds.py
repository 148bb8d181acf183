"""Metrics of one kind of attack: `KIND.METRIC`, so that each has its intervals over trials."""

from __future__ import annotations

import re

from sfcperf.results.values import Sample

PROBE = "labelled_traffic"
"""The only probe that reports metrics of single kinds of attacks."""
_SEPARATOR = "."


def of_kind(kind: str, metric: str, unit: str, value: float) -> Sample:
    """Return a sample of a metric of one kind of attack. The kind is any text: characters that a
    metric's name cannot have become `-`."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "-", kind)
    return Sample(f"{safe}{_SEPARATOR}{metric}", unit, float(value))


def kind_of(probe: str, metric: str) -> tuple[str, str] | None:
    """Return the kind of attack that a metric is about, and the metric's name without the kind.
    None if the metric is about no single kind."""
    kind, separator, name = metric.partition(_SEPARATOR)
    return (kind, name) if probe == PROBE and separator else None
