"""CSV: what a reader gets is what was written, and a spreadsheet computes nothing."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow
import pyarrow.csv
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.query.output import write_text
from sfcperf.results.export import _as_csv
from sfcperf.results.tables import csv_text

CELLS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12),
    st.from_regex(r"\A[=+\-@\t\r]\w{0,5}", fullmatch=False).map(lambda t: t.replace("\x00", "")),
    st.sampled_from(["-1.5", "+3", "-inf", "1e-9", "-", "--1", "=1+1", "-1+cmd|'/C calc'!A0"]),
)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def safe(cell: str) -> bool:
    return not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or is_number(cell)


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(ROWS)
def test_our_own_tables(rows: list[list[str]]) -> None:
    found = read(csv_text(rows))
    assert all(safe(cell) for row in found for cell in row)
    for row, given_row in zip(found, rows, strict=True):
        assert [c if c == g else c.removeprefix("'") for c, g in zip(row, given_row, strict=True)] \
            == given_row  # fmt: skip


@given(st.floats(allow_nan=False), st.integers())
def test_numbers_stay_numbers(number: float, integer: int) -> None:
    ((one, other),) = read(csv_text([[number, integer]]))
    assert (float(one), int(other)) == (number, integer)


@given(ROWS)
def test_answers_of_queries(rows: list[list[str]]) -> None:
    table = pyarrow.table({name: [r[n] for r in rows] for n, name in enumerate(("=a", "b"))})
    out = io.StringIO()
    write_text(pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches()), "csv", out)
    found = read(out.getvalue())
    assert found[0] == ["'=a", "b"]
    assert all(safe(cell) for row in found for cell in row)
    assert len(found) == len(rows) + 1


@given(ROWS)
def test_exports(rows: list[list[str]]) -> None:
    texts = pyarrow.array([row[1] for row in rows]).dictionary_encode()
    table = pyarrow.table({"a": [row[0] for row in rows], "b": texts, "c": [-1.5] * len(rows)})
    out = io.BytesIO()
    pyarrow.csv.write_csv(_as_csv(table), out)
    found = read(out.getvalue().decode())
    assert all(safe(cell) for row in found for cell in row)
    assert [row[2] for row in found[1:]] == ["-1.5"] * len(rows)


def test_no_other_place_writes_csv() -> None:
    source = Path(__file__).parents[3] / "sfcperf"
    writers = [p.name for p in source.rglob("*.py") if "csv.writer(" in p.read_text()]
    assert writers == ["columns.py"]
