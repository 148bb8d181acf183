"""A process that is started again: whatever ends the thread that watches it is a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.services.service import new_context

from sfcperf import retry
from sfcperf.errors import EnvironmentLacks
from sfcperf.services.classifier.supervised import SupervisedProcess


@pytest.mark.parametrize("error", [OSError(28, "No space left"), EnvironmentLacks("no room")])
def test_a_process_that_cannot_be_started_again(tmp_path: Path, error: Exception) -> None:
    context = new_context(tmp_path)
    spawn, started = context.spawn, []

    def once(*arguments: Any) -> Any:
        if started:
            raise error
        started.append(spawn(*arguments))
        return started[0]

    object.__setattr__(context, "spawn", once)
    process = SupervisedProcess(context, "layer", ["sleep", "0.1"], lambda: True)
    process.start(30)
    assert retry.until(lambda: process.problem() is not None, timeout_s=30, period_s=0.01)
    assert "cannot be started again" in (process.problem() or "")
    process.stop()
