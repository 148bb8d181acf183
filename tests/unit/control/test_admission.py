"""Asking whether a workflow can be built makes nothing, so that even a kill leaves nothing."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.engine import Bench, in_child
from support.fakes import FakeDriver

from sfcperf.control.admission import admit
from sfcperf.drivers.base import Resource
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario


def test_a_kill_leaves_no_temporary_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def die(driver: FakeDriver, scenarios: Sequence[Scenario]) -> None:
        assert not driver.context.state_dir.exists()
        os.kill(os.getpid(), signal.SIGKILL)

    workflow = load_document(bench.document(), tmp_path)
    monkeypatch.setattr("support.fakes.FakeDriver.admit", die)
    assert in_child(lambda: admit(workflow)) == -signal.SIGKILL
    assert list(temporary.iterdir()) == []


def test_a_driver_that_makes_something_is_told_that_this_is_a_bug(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(driver: FakeDriver, scenarios: Sequence[Scenario]) -> None:
        driver.context.journal.intend([Resource("file", "x")])

    monkeypatch.setattr("support.fakes.FakeDriver.admit", make)
    with pytest.raises(AssertionError, match="made while the workflow was admitted"):
        admit(load_document(bench.document(), tmp_path))
