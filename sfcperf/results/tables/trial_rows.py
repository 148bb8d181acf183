"""Parquet files with rows of trials: a part per trial, and one file of the run made from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.results.documents import damaged
from sfcperf.results.files import replacing
from sfcperf.results.records import SCHEMA_VERSION, TrialRecord
from sfcperf.results.tables.arrow_files import arrow_input, arrow_output

if TYPE_CHECKING:
    import pyarrow

_OF_TRIAL = ("trial_id", "scenario_id", "scenario")
_ROWS_PER_GROUP = 100_000
"""Largest number of rows in a row group of a merged file. A group for each trial would double the
size of the file, and make queries of thousands of trials several times slower."""
_ROWS_PER_BATCH = 1 << 15
_ROWS_OF_ANY_FILE = 1_000_000
_LEAST_BYTES_PER_ROW = 2
"""A file with more than _ROWS_OF_ANY_FILE rows is refused if it has fewer bytes per further row. A
measured row has a time and a value of its own, 5 to 15 bytes when compressed; a file with the same
in each row could unpack to a thousand times its size."""


class TrialRows:
    """Reads and writes one kind of Parquet files with rows of trials. Columns of the trial come
    first: `trial_id`, `scenario_id` and `scenario`, the levels of the factors as JSON text. Those
    of the kind (`own`: name -> Arrow type) follow."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own = own
        self.types = {**dict.fromkeys(_OF_TRIAL, "string"), **own}
        """Column -> its type in Arrow."""
        self.columns = tuple(self.types)

    def table(self, record: TrialRecord, rows: Sequence[Any]) -> pyarrow.Table:
        """Return the rows of one trial as a table. `rows`: objects with an attribute for each
        column of the kind. Raises ValueError, TypeError or OverflowError for values that do not
        fit."""
        import pyarrow

        scenario = json.dumps(record.scenario, sort_keys=True)
        columns: list[list[Any]] = [
            [value] * len(rows) for value in (record.trial_id, record.scenario_id, scenario)
        ]
        # Converted here, as Arrow refuses integers that a float does not hold exactly.
        columns += [
            [float(value) for value in values] if kind == "float64" else values
            for name, kind in self._own.items()
            for values in [[getattr(row, name) for row in rows]]
        ]
        return pyarrow.Table.from_arrays(
            [pyarrow.array(c, f.type) for c, f in zip(columns, self._schema(), strict=True)],
            schema=self._schema(),
        )

    def write(self, path: Path, record: TrialRecord, rows: Sequence[Any]) -> None:
        """Write the rows of one trial. Raises as `table`."""
        import pyarrow.parquet

        table = self.table(record, rows)
        with replacing(path) as beside, arrow_output(beside) as file:
            pyarrow.parquet.write_table(table, file)

    def merge(self, parts: Sequence[Path], target: Path) -> Path | None:
        """Make one file from the parts of trials, some of them at a time, and return its path; None
        without parts."""
        import pyarrow
        import pyarrow.parquet

        if not parts:
            return None
        with (
            replacing(target) as beside,
            arrow_output(beside) as file,
            pyarrow.parquet.ParquetWriter(file, self._schema()) as writer,
        ):
            waiting: list[pyarrow.Table] = []
            for number, part in enumerate(parts, 1):
                waiting.append(self.read(part))
                if number == len(parts) or sum(map(len, waiting)) >= _ROWS_PER_GROUP:
                    table = pyarrow.concat_tables(waiting)
                    writer.write_table(table, row_group_size=_ROWS_PER_GROUP)
                    waiting = []
        return target

    def read(self, path: Path, filters: Any = None) -> pyarrow.Table:
        """Return all rows of a file, or those that pyarrow's `filters` select. Raises InputError if
        the file is damaged."""
        import pyarrow.parquet

        with reading(path), arrow_input(path) as file:
            return pyarrow.parquet.read_table(file, schema=self._schema(), filters=filters)

    def check_rows(self, path: Path) -> None:
        """Check that all rows can be decoded, some at a time. Raises InputError if the file is
        damaged, or has more rows than measurements can give a file of its size."""
        import pyarrow.parquet

        texts = [name for name, kind in self.types.items() if kind == "string"]
        with (
            reading(path),
            arrow_input(path) as source,
            pyarrow.parquet.ParquetFile(source, read_dictionary=texts) as file,
        ):
            rows, size = file.metadata.num_rows, path.stat().st_size
            if rows > _ROWS_OF_ANY_FILE + size // _LEAST_BYTES_PER_ROW:
                raise damaged(f"{rows} rows in {size} bytes", str(path))
            missing = [name for name in self.columns if name not in file.schema_arrow.names]
            if missing:
                raise damaged(f"no column {missing[0]!r}", str(path))
            for batch in file.iter_batches(batch_size=_ROWS_PER_BATCH, columns=self.columns):
                for field in self._schema():
                    batch[field.name].cast(field.type)  # raises if a value does not fit the type

    def _schema(self) -> pyarrow.Schema:
        import pyarrow

        fields = [(name, getattr(pyarrow, kind)()) for name, kind in self.types.items()]
        return pyarrow.schema(fields, metadata={"schema_version": str(SCHEMA_VERSION)})


def check(path: Path, columns: Sequence[str]) -> None:
    """Raise InputError if a Parquet file is not readable or lacks a column; its rows are not
    read."""
    import pyarrow.parquet

    with reading(path), arrow_input(path) as file:
        missing = [n for n in columns if n not in pyarrow.parquet.read_schema(file).names]
    if missing:
        raise damaged(f"no column {missing[0]!r}", str(path))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the errors of reading a Parquet file into InputError."""
    import pyarrow

    try:
        yield
    except (OSError, KeyError, pyarrow.ArrowException) as error:
        raise damaged(f"not readable as Parquet: {error}", str(path)) from error
