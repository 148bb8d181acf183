from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from support.bench import bench
from support.records.manifests import VERSIONS

import sfcperf.control.run as engine
from sfcperf.control.interrupts import SIGNALS

__all__ = ["bench"]


@pytest.fixture
def default_handlers() -> Iterator[None]:
    """A test runner that was started in the background ignores SIGINT."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def fast_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking each tool for its version takes longer than the whole fake run."""
    monkeypatch.setattr(engine, "versions", lambda: VERSIONS)
