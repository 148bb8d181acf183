"""`sfcperf runs`, `resume` and `clean`: runs that are finished, alive or killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import Command
from support.engine import Bench

from sfcperf.control.lock import held


def test_runs_lists_by_status(bench: Bench, finished: Path, sfcperf: Command) -> None:
    damaged = bench.results / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    killed = bench.results / "killed"
    killed.mkdir()
    manifest = {**json.loads((finished / "run.json").read_text()), "status": "running"}
    (killed / "run.json").write_text(json.dumps({**manifest, "run_id": "killed"}))
    assert sfcperf("runs", "--results", bench.results) == 0
    lines = {line.split()[0]: line.split() for line in sfcperf.out.splitlines()}
    assert lines[finished.name][1] == "complete"
    assert lines[finished.name][3:] == ["4", "0", "0"]
    assert lines["killed"][1] == "killed"
    assert lines["damaged"][1] == "damaged"


def test_a_run_that_is_alive_is_not_called_killed(
    bench: Bench, finished: Path, sfcperf: Command
) -> None:
    """Also where SFCPERF_STATE_DIR is another one than the run's, or not ours to read."""
    manifest = json.loads((finished / "run.json").read_text())
    (finished / "run.json").write_text(json.dumps({**manifest, "status": "running"}))
    with held(finished, finished.name):
        assert sfcperf("runs", "--results", bench.results) == 0
    assert " running " in sfcperf.out


def test_before_the_first_run_there_are_none(
    sfcperf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFCPERF_RESULTS", raising=False)
    assert sfcperf("runs") == 0
    assert sfcperf.out == "no runs in results\n"
    assert sfcperf("runs", "--results", "elsewhere") == 2


def test_resume_of_a_complete_run_is_refused(finished: Path, sfcperf: Command) -> None:
    assert sfcperf("resume", finished) == 2
    assert "complete" in sfcperf.err


def test_clean_with_nothing_to_clean(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("clean") == 0
    assert sfcperf.out == "nothing to clean\n"
