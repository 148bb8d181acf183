"""The driver machines keeps the contract of drivers, on machines that are made of namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from support.network import lab

from sfcperf import retry
from sfcperf.drivers.conformance import DriverConformance
from sfcperf.playbooks.lab.namespaces import CARDS, NamespaceLab

pytestmark = [pytest.mark.root, pytest.mark.exhaustive]


class TestMachines(DriverConformance):
    driver = "machines"
    topology = "T3"
    encapsulations = frozenset({"nsh-eth", "nsh-vxlan-gpe"})
    undoes_itself = True
    lab: ClassVar[NamespaceLab]
    config: ClassVar[Mapping[str, Any]]
    second_config: ClassVar[Mapping[str, Any]]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def machines(cls, tmp_path_factory: pytest.TempPathFactory) -> Any:
        if reason := lab.lacking():
            pytest.skip(reason)
        with lab.namespace_lab(tmp_path_factory.mktemp("lab")) as made:
            cls.lab, cls.config = made, lab.config(made)
            cls.second_config = lab.with_cards(cls.config, CARDS[1])
            yield made
            cls.teardown_class()

    def traces(self, tag: str) -> list[str]:
        def found() -> list[str]:
            # Network cards may be with another run.
            return [line for line in lab.left(self.lab, tag) if tag in line]

        # A killed run is undone by the machines, some seconds later.
        retry.until(lambda: not found(), timeout_s=lab.UNDONE_S, period_s=0.5)
        return found()
