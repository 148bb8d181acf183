"""Telemetry: monitors' series joined with trials, and their correlation with metrics."""

from sfcperf.analysis.telemetry.correlate import CorrelateAnalysis, CorrelationRow
from sfcperf.analysis.telemetry.joined import JOINED_COLUMNS, MergeAnalysis, kind_of

__all__ = [
    "JOINED_COLUMNS",
    "CorrelateAnalysis",
    "CorrelationRow",
    "MergeAnalysis",
    "kind_of",
]
