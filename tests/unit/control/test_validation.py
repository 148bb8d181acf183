"""Validation creates nothing, so that even a kill leaves nothing."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.engine import Bench, in_child

from sfcperf.control.validation import validate
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario


def test_a_kill_leaves_no_temporary_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def die(config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    workflow = load_document(bench.document(), tmp_path)
    monkeypatch.setattr("support.fakes.FakeDriver.validate", die)
    assert in_child(lambda: validate(workflow)) == -signal.SIGKILL
    assert list(temporary.iterdir()) == []
