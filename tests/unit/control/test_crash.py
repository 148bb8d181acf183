"""A run that is killed at any moment is resumed to the end, and leaves nothing.

The run lives in a forked child that kills itself at one of the system calls that change the disk;
every moment between two of them is the same to whoever comes next. All of them take minutes; the
gate takes a few, in each part of the run.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.engine import Bench, die_at, in_child, sampled_points
from support.records.manifests import VERSIONS

import sfcperf.control.run as engine
from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.errors import InputError
from sfcperf.results.store import RunStore

SMALL = {
    "factors": {"chain_length": [0, 1]},
    "probes": [{"probe": "fake", "name": "a"}],
    "design": {"rounds": 2, "warmup_rounds": 1, "max_retries": 1},
}


@pytest.fixture(autouse=True)
def fast_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking each tool for its version takes longer than the whole fake run."""
    monkeypatch.setattr(engine, "versions", lambda: VERSIONS)


def run_until(bench: Bench, point: int) -> int:
    """Start a run that dies at this point; gives its exit status."""

    def run() -> None:
        die_at(point)
        bench.start(**SMALL)

    return in_child(run)


def resume_until(bench: Bench, point: int) -> int:
    def resume() -> None:
        die_at(point)
        bench.resume()

    return in_child(resume)


def points_of_a_run(bench: Bench) -> int:
    """How many points there are: counted in a run that survives."""
    reader, writer = os.pipe()

    def run() -> None:
        count = die_at(-1)
        bench.start(**SMALL)
        os.write(writer, str(count()).encode())

    assert in_child(run) == 0
    os.close(writer)
    with os.fdopen(reader) as result:
        return int(result.read())


def finish(bench: Bench) -> None:
    """What a user does after a crash: resume what can be resumed, then clean."""
    folders = list(bench.results.iterdir())
    if folders and (folders[0] / "run.json").exists():
        try:
            bench.resume()
        except InputError as error:
            assert "complete" in error.message
    bench.clean()


def check(bench: Bench) -> None:
    """Each planned trial exactly once, a complete run, and nothing left."""
    assert bench.leftovers() == []
    for folder in bench.results.iterdir():
        if not (folder / "run.json").exists():
            # Killed before the run began: it has measured nothing.
            assert not (folder / "trials.jsonl").exists()
            continue
        store = RunStore(folder)
        assert sorted(r.trial_id for r in store.trials()) == sorted(bench.planned(**SMALL))
        assert store.manifest()["status"] == "complete"
        assert store.manifest()["trials"]["valid"] == len(bench.planned(**SMALL))
        assert not list(folder.glob(".*")), "half-written files stay behind"
        SummaryAnalysis({}).analyse(store)
        assert {row.n for row in store.summaries()} == {2}


def test_killed_at_any_point_a_run_is_resumed_to_its_end(bench: Bench, tmp_path: Path) -> None:
    total = points_of_a_run(bench)
    assert total > 100
    check(bench)
    for point in sampled_points(total):
        bench.results = tmp_path / f"results-{point}"
        bench.results.mkdir()
        # Two runs differ by a few calls: one of the last points may be past the end.
        assert run_until(bench, point) == -signal.SIGKILL or point > 0.9 * total
        finish(bench)
        check(bench)


def test_killed_again_while_it_resumes(bench: Bench, tmp_path: Path) -> None:
    for first, second in ((40, 3), (60, 12), (90, 30), (120, 61), (150, 90)):
        bench.results = tmp_path / f"results-{first}"
        bench.results.mkdir()
        assert run_until(bench, first) == -signal.SIGKILL
        resume_until(bench, second)
        finish(bench)
        check(bench)


def test_a_killed_run_can_be_cleaned_instead_of_resumed(bench: Bench) -> None:
    assert run_until(bench, 70) == -signal.SIGKILL
    assert bench.clean() == ["removed"]
    assert bench.leftovers() == []
    # Its results stay, and it can still be resumed: what is missing is measured.
    bench.resume()
    check(bench)
