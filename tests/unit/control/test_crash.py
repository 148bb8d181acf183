"""A run that is killed at any moment is resumed to the end, and leaves nothing.

The run lives in a forked child that kills itself at one of the system calls that change the disk;
every moment between two of them is the same to whoever comes next. All of them take minutes; the
gate takes a few, in each part of the run.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.deaths import finish, killed_at, points, resumed, sampled_points
from support.engine import Bench

from sfcperf.analysis.summary import SummaryAnalysis

pytestmark = pytest.mark.usefixtures("fast_facts")

SMALL = {
    "factors": {"chain_length": [0, 1]},
    "probes": [{"probe": "fake", "name": "a"}],
    "design": {"rounds": 2, "warmup_rounds": 1, "max_retries": 1},
}


def run_until(bench: Bench, point: int) -> int:
    """Start a run that dies at this point; gives its exit status."""
    return killed_at(point, lambda: bench.start(**SMALL))


def check(bench: Bench) -> None:
    """Complete runs, with results that can be summarized."""
    for store in resumed(bench, **SMALL):
        assert not list(store.folder.glob(".*")), "half-written files stay behind"
        SummaryAnalysis({}).analyse(store)
        assert {row.n for row in store.summaries()} == {2}


def test_killed_at_any_point_a_run_is_resumed_to_its_end(bench: Bench, tmp_path: Path) -> None:
    total = points(lambda: bench.start(**SMALL))
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
        killed_at(second, bench.resume)
        finish(bench)
        check(bench)


def test_a_killed_run_can_be_cleaned_instead_of_resumed(bench: Bench) -> None:
    assert run_until(bench, 70) == -signal.SIGKILL
    assert bench.clean() == ["removed"]
    assert bench.leftovers() == []
    # Its results stay, and it can still be resumed: what is missing is measured.
    bench.resume()
    check(bench)
