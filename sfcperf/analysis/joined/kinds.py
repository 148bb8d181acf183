"""Kinds of telemetry series: which aggregate of a series means something."""

from __future__ import annotations

import re
from typing import Literal

from sfcperf.results.telemetry import MONITOR_COST

SeriesKind = Literal["gauge", "delta", "total"]
"""`gauge`: a level or a rate at a moment; its mean, max and percentile mean something.
`delta`: what a counter gained since the observation before; its sum does.
`total`: said once, at the end, about the whole trial; its value does."""

_TOTALS = frozenset({MONITOR_COST, "monitor_errors"})
_ONCE = re.compile(r"pptmon_\w+|(reverse_)?captured_processing_time_(?!us$)\w+")
_COUNTED = re.compile(r"(rx|tx)_(packets|bytes|errors|drops)")


def kind_of(metric: str) -> SeriesKind:
    """The kind of a series, by the names that the monitors give (sfcperf.passive)."""
    if metric in _TOTALS or metric.endswith("_total") or _ONCE.fullmatch(metric):
        return "total"
    return "delta" if _COUNTED.fullmatch(metric) else "gauge"
