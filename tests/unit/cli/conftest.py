from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import bench
from support.command import Command
from support.engine import SMALL, Bench

__all__ = ["bench"]


@pytest.fixture
def finished(bench: Bench) -> Path:
    """The folder of a small run that is complete."""
    bench.start(**SMALL)
    return bench.folder()


@pytest.fixture
def sfcperf(sfcperf: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(sfcperf, capsys)
