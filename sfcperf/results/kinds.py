"""Metrics of one kind of attack: `KIND.METRIC`, so that each has its intervals over trials."""

from __future__ import annotations

import re

from sfcperf.results.values import Sample

_SEPARATOR = "."


def of_kind(kind: str, metric: str, unit: str, value: float) -> Sample:
    """A number about a kind, which is any text."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "-", kind)
    return Sample(f"{safe}{_SEPARATOR}{metric}", unit, float(value))


def kind_of(metric: str) -> tuple[str, str] | None:
    """The kind and the metric; None for a metric that is not about one kind."""
    kind, separator, name = metric.partition(_SEPARATOR)
    return (kind, name) if separator else None
