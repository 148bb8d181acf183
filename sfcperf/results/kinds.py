"""Metrics of one kind of attack: `KIND.METRIC`, so that each has its intervals over trials."""

from __future__ import annotations

import re

from sfcperf.results.values import Sample

PROBE = "labelled_traffic"
"""The probe that reports them."""
_SEPARATOR = "."


def of_kind(kind: str, metric: str, unit: str, value: float) -> Sample:
    """A number about a kind, which is any text."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "-", kind)
    return Sample(f"{safe}{_SEPARATOR}{metric}", unit, float(value))


def kind_of(probe: str, metric: str) -> tuple[str, str] | None:
    """The kind that a metric of a probe is about, and the metric without it; None if it is about
    no single kind."""
    kind, separator, name = metric.partition(_SEPARATOR)
    return (kind, name) if probe == PROBE and separator else None
