"""The local driver on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local import new_driver, traces

from sfcperf.drivers.local.driver import LocalDriver


@pytest.fixture(params=["ebpf", "ovs"])
def dataplane(request: pytest.FixtureRequest) -> str | dict[str, str]:
    """Of all nodes, or by node."""
    asked: str | dict[str, str] = request.param
    return asked


@pytest.fixture
def driver(tmp_path: Path, dataplane: str | dict[str, str]) -> Iterator[LocalDriver]:
    """A driver; whatever a test does with it, nothing of it may be left."""
    made = new_driver(tmp_path, dataplane)
    yield made
    made.close()
    assert traces(made.context.tag) == []
    assert made.context.journal.outstanding() == []
