"""Tables of a run: their columns, and Parquet files with rows of trials and of telemetry."""

from sfcperf.results.tables.columns import (
    csv_cell,
    csv_line,
    csv_text,
    factor_names,
    level_array,
    summary_csv,
)
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
    "MONITOR_CORES",
    "MONITOR_COST",
    "OF_MONITORS",
    "TELEMETRY",
    "TrialRows",
    "csv_cell",
    "csv_line",
    "csv_text",
    "factor_names",
    "level_array",
    "monitor_cpu_cores",
    "monitor_cpu_s",
    "read_metrics",
    "summary_csv",
]
