"""A run that is killed at any moment is resumed to the end, and leaves nothing.

The run lives in a forked child that kills itself at one of the system calls that change the disk;
every moment between two of them is the same to whoever comes next. All of them take minutes; the
gate takes a few, in each part of the run.
"""

from __future__ import annotations

import signal

import pytest
from support.deaths import check_each_point, finish, killed_at, killed_run, resumed
from support.engine import Bench

from sfcperf.analysis.summary import SummaryAnalysis

pytestmark = pytest.mark.usefixtures("fast_facts")

SMALL = {
    "factors": {"chain_length": [0, 1]},
    "probes": [{"probe": "fake", "name": "a"}],
    "design": {"rounds": 2, "warmup_rounds": 1, "max_retries": 1},
}


def check(bench: Bench) -> None:
    """Complete runs, with results that can be summarized."""
    for store in resumed(bench, **SMALL):
        assert not list(store.folder.glob(".*")), "half-written files stay behind"
        SummaryAnalysis({}).analyse(store)
        assert {row.n for row in store.summaries()} == {2}


def test_killed_at_any_point_a_run_is_resumed_to_its_end(bench: Bench) -> None:
    assert check_each_point(bench, check, **SMALL) > 100


@pytest.mark.exhaustive
def test_killed_again_while_it_resumes(bench: Bench) -> None:
    for first, second in ((40, 3), (60, 12), (90, 30), (120, 61), (150, 90)):
        assert killed_run(bench, first, **SMALL) == -signal.SIGKILL
        killed_at(second, bench.resume)
        finish(bench)
        check(bench)


def test_a_killed_run_can_be_cleaned_instead_of_resumed(bench: Bench) -> None:
    assert killed_run(bench, 70, **SMALL) == -signal.SIGKILL
    assert bench.clean() == ["removed"]
    assert bench.leftovers() == []
    # Its results stay, and it can still be resumed: what is missing is measured.
    bench.resume()
    check(bench)
