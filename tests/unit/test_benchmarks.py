"""The runner of benchmarks: readings in turn, budgets, exit status, JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
BENCHMARK = f"""
import sys
sys.path.insert(0, {str(BENCHMARKS)!r})
from _runner import Benchmark, Budget, Parameter, Row, Skipped

def speed(run):
    '''Of both.'''
    order = []
    found = run.in_turn({{"ours": 2.0, "peer": 1.0}}, lambda v: order.append(v) or v, warm_up=True)
    yield Row("time", found["ours"], "ms", "peer", found["peer"], remarks=str(order))
    for of in ("result", "ratio", "excess"):
        budget = Budget(high=run.parameters.most, of=of)
        yield Row(of, found["ours"], "ms", "peer", found["peer"], budget)
    yield Row("known", 9.0, budget=Budget(high=1), tolerated="limit")

def elsewhere(run):
    '''Not here.'''
    raise Skipped("there is no such device")
    yield

most = Parameter(9.0, "of the budgets", float)
Benchmark("Both.", {{speed: 6, elsewhere: 1}}, {{"most": most}}).main()
"""


def run(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, rows by JSON, and what it prints."""
    file, rows = folder / "both.py", folder / "rows.json"
    file.write_text(BENCHMARK)
    argv = [sys.executable, str(file), "--json", str(rows), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(rows.read_text())["rows"], done.stdout


def test_sides_are_measured_in_turn_and_judged(tmp_path: Path):
    status, rows, text = run(tmp_path)
    assert status == 0
    assert rows[0]["readings"] == [2.0] * 6
    assert rows[0]["remarks"] == str([2.0, 1.0] * 7)
    assert rows[0]["ratio"] == pytest.approx({"estimate": 2, "low": 2, "high": 2})
    assert [row["holds"] for row in rows] == [None, True, True, True, False]
    assert "skipped" in text


@pytest.mark.parametrize(("most", "held"), [("1.5", ["excess"]), ("0.5", [])])
def test_a_budget_that_does_not_hold_is_the_exit_status(tmp_path: Path, most: str, held: list[str]):
    status, rows, text = run(tmp_path, "speed", "--most", most, "--repetitions", "2")
    assert status == 1
    assert [row["name"] for row in rows if row["holds"]] == held
    assert text.count("MISSED") == 3 - len(held)
    assert rows[0]["ratio"]["low"] is None
