"""Processes of services: all of them are ended, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.local import ListJournal

from sfcperf import retry
from sfcperf.errors import EnvironmentLacks
from sfcperf.services import processes
from sfcperf.services.processes import Processes

SLEEP = "import time; time.sleep(600)"
LEADER = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {SLEEP!r}], start_new_session=True)
print(child.pid, flush=True)
"""


def started(journal: ListJournal, code: str, output: Path) -> processes.MarkedProcess:
    return Processes(journal).spawn([sys.executable, "-c", code], output)


def alive(journal: ListJournal) -> list[int]:
    marks = [resource.name for resource in journal.outstanding()]
    return sorted(pid for pid, _ in processes.marked(marks))


def test_what_a_process_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    """The child has a session of its own, and its parent is gone."""
    journal = ListJournal()
    leader = started(journal, LEADER, tmp_path / "out")
    assert leader.wait(30) == 0
    child = int((tmp_path / "out").read_text())
    assert alive(journal) == [child]
    leader.stop()
    assert list(processes.marked([leader._mark])) == []
    assert journal.outstanding() == []


def test_undo_ends_those_in_the_journal_alone(tmp_path: Path) -> None:
    journal, other = ListJournal(), ListJournal()
    first = started(journal, f"{LEADER}\n{SLEEP}", tmp_path / "first")
    second = started(other, SLEEP, tmp_path / "second")
    assert retry.until(lambda: len(alive(journal)) == 2, timeout_s=30, period_s=0.01)
    foreign = subprocess.Popen([sys.executable, "-c", SLEEP])
    try:
        left = journal.outstanding()
        lines = processes.undo(left, dry_run=True)
        assert sorted(lines) == sorted(f"process {p} ({sys.executable})" for p in alive(journal))
        assert len(alive(journal)) == 2
        assert sorted(processes.undo(left, dry_run=False)) == sorted(lines)
        assert alive(journal) == []
        assert processes.undo(left, dry_run=False) == []
        assert first.wait(30) == -9
        assert second.poll() is None
        assert foreign.poll() is None
    finally:
        foreign.kill()
        foreign.wait()
        second.stop()


def test_it_is_in_the_journal_before_it_runs_and_only_if_it_does(tmp_path: Path) -> None:
    class FullDisk(ListJournal):
        def intend(self, resources: object) -> None:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        started(FullDisk(), f"open({str(tmp_path / 'ran')!r}, 'w')", tmp_path / "out")
    assert not (tmp_path / "ran").exists()
    journal = ListJournal()
    with pytest.raises(EnvironmentLacks, match="/nowhere/tool cannot be started"):
        Processes(journal).spawn(["/nowhere/tool"], tmp_path / "out")
    assert journal.outstanding() == []
