"""Tables of a run: their columns, and Parquet files with rows of trials, telemetry and flows."""

from sfcperf.results.tables.columns import (
    csv_cell,
    csv_line,
    csv_text,
    factor_names,
    level_array,
    summary_csv,
)
from sfcperf.results.tables.flows import FLOWS, FlowCount, FlowRecord, flow_name
from sfcperf.results.tables.telemetry import (
    MONITOR_CORES,
    MONITOR_COST,
    OF_MONITORS,
    TELEMETRY,
    monitor_cpu_cores,
    monitor_cpu_s,
    read_metrics,
)
from sfcperf.results.tables.trial_rows import TrialRows

__all__ = [
    "FLOWS",
    "MONITOR_CORES",
    "MONITOR_COST",
    "OF_MONITORS",
    "TELEMETRY",
    "FlowCount",
    "FlowRecord",
    "TrialRows",
    "csv_cell",
    "csv_line",
    "csv_text",
    "factor_names",
    "flow_name",
    "level_array",
    "monitor_cpu_cores",
    "monitor_cpu_s",
    "read_metrics",
    "summary_csv",
]
