"""The comparison as tables of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from support.records.comparisons import row, runs_row

from sfcperf.analysis.comparison import Comparison, Options, Row
from sfcperf.analysis.comparison.result import SideFacts
from sfcperf.comparison.terminal import comparison_tables

A = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2]
SCENARIO = {"chain_length": 4, "encapsulation": "vxlan-gpe"}


def printed(rows: Sequence[Row], width: int) -> str:
    sides = [SideFacts(name, name, None, "w", "", "complete", {}) for name in ("old", "candidate")]
    compared = Comparison(sides[0], (sides[1],), Options(), tuple(rows), (), (), ())
    console = Console(file=StringIO(), width=width)
    for part in comparison_tables(compared, width):
        console.print(part)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_rows_of_several_runs_and_of_one_are_in_one_table() -> None:
    rows = (runs_row([A, A, A], [A, A, A]), row(A, A))
    text = printed(rows, 200)
    assert text.count("candidate against old") == 1
    assert text.count("ping rtt") == 2
    for each in rows:
        assert each.verdict in text


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("by_runs", [False, True])
def test_metric_scenario_change_and_verdict_are_seen_on_a_narrow_terminal(
    width: int, by_runs: bool
) -> None:
    b = [1.07 * value for value in A]
    one = runs_row([A, A, A], [b, A, b]) if by_runs else row(A, b)
    text = printed([replace(one, scenario=SCENARIO)], width)
    assert all(len(line) <= width for line in text.splitlines())
    words = text.split()
    assert {"4", "vxlan-gpe", "ping", "rtt", one.verdict, "%"} <= set(words)
    # What has no room is named.
    assert {"(Holm)", "baseline", "candidate"} <= {word.rstrip(",") for word in words}
