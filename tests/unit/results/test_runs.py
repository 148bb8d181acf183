"""Listing runs, whatever state their folders are in."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.records.trials import run_folder, trial

from sfcperf.errors import InputError
from sfcperf.results.runs import list_runs


def test_runs_are_listed_oldest_first_with_their_trials(tmp_path: Path) -> None:
    trials = [trial(1), trial(2), trial(3, status="untrusted"), trial(4, status="failed")]
    run_folder(tmp_path / "a-late", trials, started_at="2026-02-01T00:00:00.000000+00:00")
    run_folder(tmp_path / "b-early", status="running")
    early, late = list_runs(tmp_path)
    assert (early.run_id, early.status, early.valid) == ("b-early", "running", 0)
    assert (late.valid, late.untrusted, late.failed) == (2, 1, 1)
    assert (late.name, late.damage, late.folder) == ("small", None, tmp_path / "a-late")


def test_what_is_no_run_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("results")
    (tmp_path / "notes").mkdir()
    assert list_runs(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", b""),
        ("run.json", b'{"schema_version": 1}'),
        ("run.json", b'{"schema_version": 99}'),
        ("run.json", b'{"schema_version": 1, "run_id": 3, "name": 3}'),
        ("trials.jsonl", b"torn\n"),
    ],
)
def test_damaged_runs_are_listed_as_damaged(tmp_path: Path, name: str, content: bytes) -> None:
    run_folder(tmp_path / "whole")
    damaged = run_folder(tmp_path / "a-damaged", [trial(1)])
    (damaged.folder / name).write_bytes(content)
    whole, other = list_runs(tmp_path)
    assert (whole.run_id, whole.damage) == ("whole", None)
    assert (other.run_id, other.status) == ("a-damaged", "damaged")
    assert other.damage is not None and name in other.damage


def test_a_run_killed_as_it_began_is_listed(tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "workflow.json").write_text("{}")
    [begun] = list_runs(tmp_path)
    assert begun.status == "damaged" and begun.damage is not None


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_results_folder_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be read"):
        list_runs(tmp_path / name)
