"""The local driver on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local import new_driver, traces

from sfcperf.drivers.local.driver import LocalDriver

ON_BMV2 = pytest.param("bmv2", marks=[pytest.mark.bmv2, pytest.mark.exhaustive])
"""Slow to start and to forward: tests of the gate name it themselves."""


@pytest.fixture(params=["ebpf", "ovs", ON_BMV2])
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
