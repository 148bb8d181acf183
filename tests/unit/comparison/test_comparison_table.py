"""The comparison as tables of a terminal."""

from __future__ import annotations

from support.records.comparisons import row, runs_row

from sfcperf.analysis.comparison import Comparison, Options
from sfcperf.analysis.comparison.result import SideFacts
from sfcperf.comparison.terminal import comparison_tables

A = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2]


def test_rows_of_several_runs_and_of_one_are_in_one_table() -> None:
    rows = (runs_row([A, A, A], [A, A, A]), row(A, A))
    sides = [SideFacts(name, name, None, "w", "", "complete", {}) for name in ("old", "candidate")]
    compared = Comparison(sides[0], (sides[1],), Options(), rows, (), (), ())
    (table,) = comparison_tables(compared)
    (verdicts,) = (column for column in table.columns if str(column.header) == "verdict")
    for each, cell in zip(rows, verdicts.cells, strict=True):
        assert each.verdict in str(cell)
