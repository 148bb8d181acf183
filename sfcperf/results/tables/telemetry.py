"""Telemetry as Parquet: one row per observation, with its trial and scenario."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from sfcperf.results.tables.arrow_files import arrow_input
from sfcperf.results.tables.trial_rows import TrialRows, check, reading

if TYPE_CHECKING:
    import pyarrow

MONITOR_COST = "monitor_cpu_s"
"""The metric under which monitors report their own CPU time (sfcperf.passive.base)."""
MONITOR_CORES = "monitor_cpu_cores"
"""The metric under which monitors report how many CPUs they used while the probe measured; few
monitors report it."""
OF_MONITORS = (MONITOR_COST, MONITOR_CORES)
"""Metrics that monitors report about themselves, not about the system, once per trial."""

TELEMETRY = TrialRows(
    {
        "time_ns": "int64",
        "source": "string",
        "metric": "string",
        "unit": "string",
        "value": "float64",
    }
)
"""telemetry.parquet (schemas/telemetry.schema.json): rows are Observations."""


def read_metrics(path: Path, metrics: Sequence[str]) -> pyarrow.Table:
    """Return the rows of some metrics. Raises InputError if the file is damaged."""
    return TELEMETRY.read(path, filters=[("metric", "in", list(metrics))])


def monitor_cpu_s(path: Path) -> dict[str, float]:
    """Return monitor -> CPU time that it used in the whole run, seconds; empty if the file does not
    exist. Raises InputError if the file is damaged."""
    return {name: sum(values) for name, values in _of_monitors(path, MONITOR_COST).items()}


def monitor_cpu_cores(path: Path) -> dict[str, float]:
    """Return monitor -> CPUs that it used while probes measured, the mean of all trials. Monitors
    that do not report it are missing; empty if the file does not exist. Raises InputError if the
    file is damaged."""
    return {name: fmean(values) for name, values in _of_monitors(path, MONITOR_CORES).items()}


def _of_monitors(path: Path, metric: str) -> dict[str, list[float]]:
    """Return monitor -> the values of a metric that it reported about itself, trial by trial; empty
    if the file does not exist. Raises InputError if the file is damaged."""
    if not path.is_file():
        return {}
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    check(path, TELEMETRY.columns)
    found: dict[str, list[float]] = {}
    columns = ["metric", "source", "value"]
    with reading(path), arrow_input(path) as source_file:
        # The file is read in batches, so that a large one need not be in memory.
        file = pyarrow.parquet.ParquetFile(source_file, read_dictionary=["metric", "source"])
        for batch in file.iter_batches(columns=columns):
            own = batch.filter(pyarrow.compute.equal(batch["metric"], metric))
            values = own["value"].cast(pyarrow.float64()).to_pylist()
            for source, value in zip(own["source"].to_pylist(), values, strict=True):
                found.setdefault(source, []).append(value)
    return found
