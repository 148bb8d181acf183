"""`latest`, and verbs without a run: the run in the results folder that was begun last."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Command
from support.records.runs import RunOptions, build_run

from sfcperf.results.runs import latest_run
from sfcperf.results.store import RunStore

SMALL = RunOptions(topologies=("T1",), chain_lengths=(1,), rounds=2, failed=frozenset(), figures=())


def begun(folder: Path, started_at: str) -> RunStore:
    store = build_run(folder, SMALL)
    store.write_manifest({**store.manifest(), "started_at": started_at, "run_id": folder.name})
    return store


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs, the younger one first by name; a damaged one; and what is no run."""
    folder = tmp_path / "results"
    begun(folder / "b", "2026-11-01T00:00:00+00:00")
    begun(folder / "a", "2026-11-02T00:00:00+00:00")
    (folder / "z").mkdir()
    (folder / "z" / "run.json").write_text("{")
    (folder / "figures").mkdir()
    monkeypatch.chdir(tmp_path)
    return folder


def test_it_is_the_run_that_was_begun_last(results: Path, sfcperf: Command) -> None:
    assert latest_run(results) == results / "a"
    for words in (
        ("watch",),
        ("watch", "latest"),
        ("report",),
        ("export",),
        ("figures", "--format", "svg", "--metric", "rtt_us", "--probe", "ping"),
        ("query", "latest", "select run_id || '/' as found from runs"),
    ):
        assert sfcperf(*words) == 0
        out = sfcperf.out
        assert "a/" in out or "results/a" in out, words
        assert "results/b" not in out


def test_a_run_of_that_name_is_meant(results: Path, sfcperf: Command) -> None:
    begun(results / "latest", "2025-01-01T00:00:00+00:00")
    assert sfcperf("export", "latest") == 0
    assert (results / "latest" / "samples.csv").is_file()


def test_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sfcperf: Command) -> None:
    monkeypatch.chdir(tmp_path)
    assert sfcperf("watch") == 2
    (tmp_path / "results").mkdir()
    for verb in ("watch", "report", "export", "figures"):
        assert sfcperf(verb) == 2
