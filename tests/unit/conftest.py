"""The command line, for tests of all that it does."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from sfcperf.cli.main import main

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
