"""The run folder: its records as values, and RunStore, which reads and writes them."""

from sfcperf.results.records import RunStatus, Summary, TrialRecord, TrialStatus
from sfcperf.results.values import Metric, Observation, Sample

__all__ = [
    "Metric",
    "Observation",
    "RunStatus",
    "Sample",
    "Summary",
    "TrialRecord",
    "TrialStatus",
]
