"""`sfcperf watch`: what it prints, and its exit code."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.command import Command
from support.engine import SMALL, Bench
from support.records.runs import RunOptions, build_run

from sfcperf.analysis.planned import planned_measurements
from sfcperf.analysis.summary import summarise
from sfcperf.cli.watching import picture
from sfcperf.control.live import look_at
from sfcperf.control.lock import held
from sfcperf.figures.run_data import RunData
from sfcperf.results.store import RunStore


def test_a_finished_run(finished: Path, sfcperf: Command) -> None:
    assert sfcperf("watch", finished) == 0
    lines = sfcperf.out.splitlines()
    assert lines[0] == f"{finished.name}: the run is complete"
    assert lines[1].startswith("1 of 4: r001-")
    assert lines[4].startswith("4 of 4: r002-")
    assert "a: valid, rtt " in lines[4]
    assert lines[5] == "the run is complete; 4 trials: 4 valid"
    # Nobody sees a terminal here.
    assert not any("\x1b" in line or "\\u001b" in line for line in lines)


@pytest.mark.parametrize(
    ("status", "said"), [("interrupted", "was interrupted"), ("running", "was killed")]
)
def test_a_run_that_did_not_end(finished: Path, sfcperf: Command, status: str, said: str) -> None:
    manifest = json.loads((finished / "run.json").read_text())
    (finished / "run.json").write_text(json.dumps({**manifest, "status": status}))
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    assert sfcperf("watch", finished) == 1
    out = sfcperf.out
    assert f"the run {said}; 4 trials" in out
    assert f"next:    sfcperf resume {finished}" in out
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def drawn(shown: Any) -> str:
    out = StringIO()
    Console(file=out, width=100).print(shown)
    return out.getvalue()


def test_the_picture_of_a_run_in_progress(bench: Bench) -> None:
    bench.start(**SMALL)
    store = RunStore(bench.folder())
    path = store.folder / "trials.jsonl"
    *lines, last = path.read_text().splitlines(keepends=True)
    # As it was while the last trial was measured, and its line was being written.
    path.write_text("".join(lines) + last[:20])
    manifest = store.manifest()
    store.write_manifest({**manifest, "status": "running", "state": "measuring", "stopping": {}})
    with held(store.folder, store.run_id):
        live = look_at(store)
    rows = summarise(store, planned_measurements(live.manifest, live.trials))
    text = drawn(picture(live, RunData(store, "").workflow, rows, 40))
    assert re.search(r"^time:   about \d+ s left.*, trials take .+ planned *$", text, re.M)
    assert ": measuring, for " in text
    assert "3 of 4 trials" in text
    trial = json.loads(last)
    assert f"now:    round 2, chain_length={trial['scenario']['chain_length']}: a" in text
    assert "so far: 3 trials: 3 valid" in text
    assert {line.split()[-3:][0] for line in text.splitlines() if " of 2" in line} == {"1", "2"}


def test_of_many_scenarios_those_measured_last(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", RunOptions(chain_lengths=range(9), telemetry=False))
    live, rows = look_at(store), store.summaries()
    text = drawn(picture(live, None, rows, 24))
    assert text.count("\n") <= 24
    shown = live.trials[-1].scenario
    assert f"{shown['topology']} {shown['chain_length']} ping rtt" in " ".join(text.split())
    assert "more rows: the terminal is too low" in text
