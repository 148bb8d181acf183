from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.bench import bench
from support.engine import SMALL, Bench

from sfcperf.cli.main import main

__all__ = ["bench", "sfcperf"]

Command = Callable[..., int]


@pytest.fixture
def sfcperf(monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """The command in this process; gives its exit code."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]

    def run(*argv: object) -> int:
        monkeypatch.setattr(sys, "argv", ["sfcperf", *map(str, argv)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    yield run
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def finished(bench: Bench) -> Path:
    """The folder of a small run that is complete."""
    bench.start(**SMALL)
    return bench.folder()
