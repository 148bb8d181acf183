"""What monitors are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local import new_driver, traces
from support.network.cable import Cable, cable

from sfcperf.drivers.local.driver import LocalDriver

ON_BMV2 = pytest.param("bmv2", marks=[pytest.mark.bmv2, pytest.mark.exhaustive])


@pytest.fixture(params=["ebpf", "ovs", ON_BMV2])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalDriver]:
    """The local driver on each data plane; it leaves nothing behind."""
    made = new_driver(tmp_path, request.param)
    yield made
    made.close()
    assert traces(made.context.tag) == []


@pytest.fixture
def wire() -> Iterator[Cable]:
    """A cable of its own for each test."""
    with cable() as made:
        yield made
