"""The local driver keeps the contract of drivers."""

from __future__ import annotations

import pytest
from support import local

from sfcperf.drivers.conformance import DriverConformance

# Its chains are shared: the tests run one after another.
pytestmark = [pytest.mark.root, pytest.mark.xdist_group("local-conformance")]


class TestLocal(DriverConformance):
    driver = "local"
    encapsulations = frozenset({"nsh-eth", "nsh-vxlan-gpe"})

    def traces(self, tag: str) -> list[str]:
        return local.traces(tag)
