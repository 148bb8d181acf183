"""Telemetry as Parquet: one row per observation, with its trial and scenario."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.results.documents import damaged
from sfcperf.results.files import replacing
from sfcperf.results.records import SCHEMA_VERSION, TrialRecord
from sfcperf.results.values import Observation

if TYPE_CHECKING:
    import pyarrow

MONITOR_COST = "monitor_cpu_s"
"""The metric under which monitors report their own CPU time (sfcperf.passive.base)."""

COLUMNS = ("trial_id", "scenario_id", "scenario", "time_ns", "source", "metric", "unit", "value")
"""Columns of telemetry.parquet (schemas/telemetry.schema.json)."""

_ROWS_PER_GROUP = 100_000
"""Rows of a merged file that readers take at a time. A group per trial would double the size of
the file and make queries of thousands of trials several times slower."""


_ROWS_PER_BATCH = 1 << 15
_ROWS_OF_ANY_FILE = 1_000_000
_LEAST_BYTES_PER_ROW = 2
"""A row has at least a time and a value of its own, 5 to 15 bytes when compressed; a file that says
the same in each row can unpack to a thousand times its size."""
_TEXTS = [name for name in COLUMNS if name not in ("time_ns", "value")]


def write(path: Path, record: TrialRecord, observations: Sequence[Observation]) -> None:
    """Write the observations of one trial."""
    import pyarrow
    import pyarrow.parquet

    count = len(observations)
    columns = [
        [record.trial_id] * count,
        [record.scenario_id] * count,
        [json.dumps(record.scenario, sort_keys=True)] * count,
        [observation.time_ns for observation in observations],
        [observation.source for observation in observations],
        [observation.metric for observation in observations],
        [observation.unit for observation in observations],
        [float(observation.value) for observation in observations],
    ]
    table = pyarrow.Table.from_arrays(
        [pyarrow.array(c, f.type) for c, f in zip(columns, _schema(), strict=True)],
        schema=_schema(),
    )
    with replacing(path) as beside:
        pyarrow.parquet.write_table(table, beside)


def merge(parts: Sequence[Path], target: Path) -> Path | None:
    """One file from many, some parts at a time; None without parts."""
    import pyarrow
    import pyarrow.parquet

    if not parts:
        return None
    with (
        replacing(target) as beside,
        pyarrow.parquet.ParquetWriter(beside, _schema()) as writer,
    ):
        waiting: list[pyarrow.Table] = []
        for number, part in enumerate(parts, 1):
            waiting.append(read(part))
            if number == len(parts) or sum(map(len, waiting)) >= _ROWS_PER_GROUP:
                writer.write_table(pyarrow.concat_tables(waiting), row_group_size=_ROWS_PER_GROUP)
                waiting = []
    return target


def read(path: Path) -> pyarrow.Table:
    """All rows of a telemetry file. Raises InputError if it is damaged."""
    import pyarrow.parquet

    with reading(path):
        return pyarrow.parquet.read_table(path, schema=_schema())


def read_metrics(path: Path, metrics: Sequence[str]) -> pyarrow.Table:
    """The rows of some metrics. Raises InputError if the file is damaged."""
    import pyarrow.parquet

    with reading(path):
        filters = [("metric", "in", list(metrics))]
        return pyarrow.parquet.read_table(path, schema=_schema(), filters=filters)


def check(path: Path, columns: Sequence[str] = COLUMNS) -> None:
    """Raises InputError if a Parquet file is not readable or lacks a column; its rows are not
    read."""
    import pyarrow.parquet

    with reading(path):
        missing = [n for n in columns if n not in pyarrow.parquet.read_schema(path).names]
    if missing:
        raise damaged(f"no column {missing[0]!r}", str(path))


def check_rows(path: Path) -> None:
    """Decode all rows, some at a time. Raises InputError if the file is damaged, or has more rows
    than a file of its size can have of a measurement."""
    import pyarrow.parquet

    with reading(path), pyarrow.parquet.ParquetFile(path, read_dictionary=_TEXTS) as file:
        rows, size = file.metadata.num_rows, path.stat().st_size
        if rows > _ROWS_OF_ANY_FILE + size // _LEAST_BYTES_PER_ROW:
            raise damaged(f"{rows} rows in {size} bytes", str(path))
        missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
        if missing:
            raise damaged(f"no column {missing[0]!r}", str(path))
        for batch in file.iter_batches(batch_size=_ROWS_PER_BATCH, columns=COLUMNS):
            for field in _schema():
                batch[field.name].cast(field.type)


def monitor_cpu_s(path: Path) -> dict[str, float]:
    """Monitor -> CPU time that it used in the whole run, seconds; empty without the file.

    A monitor reports once per trial what it used in that trial. Raises InputError if the file is
    damaged.
    """
    if not path.is_file():
        return {}
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    check(path)
    sums: dict[str, float] = {}
    columns = ["metric", "source", "value"]
    with reading(path):
        # By batches, so that a large file need not be in memory.
        file = pyarrow.parquet.ParquetFile(path, read_dictionary=["metric", "source"])
        for batch in file.iter_batches(columns=columns):
            own = batch.filter(pyarrow.compute.equal(batch["metric"], MONITOR_COST))
            values = own["value"].cast(pyarrow.float64()).to_pylist()
            for source, value in zip(own["source"].to_pylist(), values, strict=True):
                sums[source] = sums.get(source, 0.0) + value
    return sums


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises InputError if reading a Parquet file fails."""
    import pyarrow

    try:
        yield
    except (OSError, KeyError, pyarrow.ArrowException) as error:
        raise damaged(f"not readable as Parquet: {error}", str(path)) from error


def _schema() -> pyarrow.Schema:
    import pyarrow

    kinds = {"time_ns": pyarrow.int64(), "value": pyarrow.float64()}
    names = [(name, kinds.get(name, pyarrow.string())) for name in COLUMNS]
    return pyarrow.schema(names, metadata={"schema_version": str(SCHEMA_VERSION)})
