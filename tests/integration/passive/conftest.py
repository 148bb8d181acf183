"""What monitors are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local import local_driver
from support.network.cable import wire

from sfcperf.drivers.local.driver import LocalDriver

__all__ = ["wire"]

ON_BMV2 = pytest.param("bmv2", marks=[pytest.mark.bmv2, pytest.mark.exhaustive])


@pytest.fixture(params=["ebpf", "ovs", ON_BMV2])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalDriver]:
    """The local driver on each data plane."""
    with local_driver(tmp_path, request.param) as made:
        yield made
