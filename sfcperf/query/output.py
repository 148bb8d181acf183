"""Writes the rows of a query as a table, CSV, JSON or Parquet, a batch at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sfcperf.errors import InputError
from sfcperf.results.tables import csv_line
from sfcperf.results.tables.arrow_files import arrow_output

if TYPE_CHECKING:
    import pyarrow


def write_text(rows: pyarrow.RecordBatchReader, format: str, out: TextIO) -> None:
    """Write rows as text. `format`: `table` for people, `csv` with a header, or `json`, which is an
    array of objects."""
    _WRITERS[format](rows, out)


def write_parquet(rows: pyarrow.RecordBatchReader, path: Path) -> None:
    """Write rows into a Parquet file, in which columns keep their types."""
    import pyarrow.parquet

    with arrow_output(path) as file, pyarrow.parquet.ParquetWriter(file, rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)


def _write_csv(rows: pyarrow.RecordBatchReader, out: TextIO) -> None:
    out.write(csv_line(rows.schema.names))
    for batch in rows:
        out.writelines(csv_line(map(_csv_cell, row)) for row in _rows(batch))


def _write_json(rows: pyarrow.RecordBatchReader, out: TextIO) -> None:
    out.write("[")
    between = "\n"
    for batch in rows:
        for row in _rows(batch):
            named = dict(zip(rows.schema.names, map(_json_value, row), strict=True))
            out.write(between + json.dumps(named, ensure_ascii=False, allow_nan=False))
            between = ",\n"
    out.write("\n]\n")


def _write_table(rows: pyarrow.RecordBatchReader, out: TextIO) -> None:
    """Write a table. Columns are as wide as the rows of the first batch need, because only one
    batch is in memory; cells of later rows may be wider."""
    import pyarrow

    if rows.schema.names == ["explain_key", "explain_value"]:
        # The answer to EXPLAIN is a drawing over several lines, which no table could hold.
        out.writelines(f"{value}\n" for batch in rows for _, value in _rows(batch))
        return
    numeric = [
        pyarrow.types.is_integer(kind)
        or pyarrow.types.is_floating(kind)
        or pyarrow.types.is_decimal(kind)
        for kind in rows.schema.types
    ]
    widths: list[int] = []
    count = 0
    for batch in rows:
        cells = [[_table_cell(value) for value in row] for row in _rows(batch)]
        count += len(cells)
        if not widths and cells:
            shown = [rows.schema.names, *cells]
            widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
            out.write(_line(rows.schema.names, widths, numeric))
            out.write("  ".join("─" * width for width in widths) + "\n")
        for row in cells:
            out.write(_line(row, widths, numeric))
    if not count:
        out.write("  ".join(rows.schema.names) + "\n(no rows)\n")


_WRITERS: Mapping[str, Callable[[Any, TextIO], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
}


def _rows(batch: pyarrow.RecordBatch) -> Iterable[tuple[Any, ...]]:
    """Return the rows of a batch, each with its values in the order of the columns. Raises
    InputError for a date that Python does not have."""
    # Columns are taken by place, because two columns of a query may have the same name.
    try:
        columns = [column.to_pylist() for column in batch.columns]
    except (OverflowError, ValueError) as error:
        # DuckDB has infinite dates and years up to 5,881,580, which Python has not.
        raise InputError(
            "a date or time of the answer is beyond the years 1 to 9999",
            where="SQL",
            hint="cast it to text: COLUMN::varchar",
        ) from error
    return zip(*columns, strict=True) if columns else ()


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    """Return a line of a table, with cells as wide as their columns; numbers are on the right."""
    aligned = (
        cell.rjust(width) if is_number else cell.ljust(width)
        for cell, width, is_number in zip(cells, widths, numeric, strict=True)
    )
    return "  ".join(aligned).rstrip() + "\n"


def _table_cell(value: Any) -> str:
    """Return a value as a cell for people: floats have six digits, null is empty."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    # A row stays on one line, and a terminal gets no control characters that it would obey.
    text = _csv_cell(value)
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def _csv_cell(value: Any) -> Any:
    """Return a value as CSV has it: lists and objects as JSON, moments in ISO 8601, bytes as
    hexadecimal digits."""
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(_json_value(value), ensure_ascii=False)
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else value


def _json_value(value: Any) -> Any:
    """Convert a value to one that JSON has: NaN and infinities become null, durations become
    seconds; moments and bytes are as in CSV."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, timedelta):
        return value.total_seconds()
    return _csv_cell(value)
