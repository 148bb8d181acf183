"""The local driver keeps the contract of drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from support import local

from sfcperf.drivers.conformance import DriverConformance
from sfcperf.drivers.conformance.killed_deployment import DEPLOYED, INTENDED

# Its chains are shared: the tests run one after another.
pytestmark = pytest.mark.root


EXHAUSTIVE = ("early", "midway", "late")


class TestLocal(DriverConformance):
    driver = "local"
    encapsulations = frozenset({"nsh-eth", "nsh-vxlan-gpe"})

    def traces(self, tag: str) -> list[str]:
        return local.traces(tag)

    @pytest.mark.parametrize(
        "moment",
        [INTENDED, DEPLOYED, *(pytest.param(m, marks=pytest.mark.exhaustive) for m in EXHAUSTIVE)],
    )
    def test_a_killed_deployment_is_undone_from_its_journal(self, moment: str) -> None:
        super().test_a_killed_deployment_is_undone_from_its_journal(moment)


@pytest.mark.bmv2
@pytest.mark.exhaustive
class TestLocalOnBmv2(TestLocal):
    config: ClassVar[Mapping[str, Any]] = {"dataplane": "bmv2"}
    refuses = frozenset({"bridged"})
