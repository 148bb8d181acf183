"""Telemetry: monitors' series joined with trials, their correlation with metrics, steady state."""

from sfcperf.analysis.telemetry.correlate import CorrelateAnalysis, CorrelationRow
from sfcperf.analysis.telemetry.joined import JOINED_COLUMNS, MergeAnalysis, kind_of
from sfcperf.analysis.telemetry.steady import SteadyAnalysis

__all__ = [
    "JOINED_COLUMNS",
    "CorrelateAnalysis",
    "CorrelationRow",
    "MergeAnalysis",
    "SteadyAnalysis",
    "kind_of",
]
