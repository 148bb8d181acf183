"""The local driver on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local import local_driver

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
    with local_driver(tmp_path, dataplane) as made:
        yield made
