"""What a driver refuses, before anything is made and with the place in the workflow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.conformance.subject import Subject
from sfcperf.errors import EnvironmentLacks, SfcperfError, WorkflowError
from sfcperf.workflow.model import Match, Scenario

IMPOSSIBLE: dict[str, Callable[[Scenario], Scenario]] = {
    "100000 vCPUs": lambda chain: _with_vcpus(chain, 100_000),
    "one address for both endpoints": lambda chain: replace(
        chain,
        client=replace(chain.client, address="10.11.12.13"),
        server=replace(chain.server, address="10.11.12.13"),
    ),
    "an option of an endpoint that nobody knows": lambda chain: replace(
        chain, client=replace(chain.client, options={"no-such-option": 1})
    ),
}
"""Name -> what makes a good chain impossible."""
ENCAPSULATIONS = ("nsh-eth", "nsh-vxlan-gpe")


class Admission(Subject):
    """Tests of `admit` and `afford`."""

    def admit(self, *scenarios: Scenario) -> None:
        """As before a run: a journal that takes nothing, folders that are not there."""
        self.check_environment()
        nowhere = Path("/nonexistent/sfcperf-conformance")
        journal = _NothingIsMade()
        context = DriverContext(
            run_id="admission",
            tag="000000",
            config=self.full_config(),
            journal=journal,
            state_dir=nowhere,
            raw_dir=nowhere,
            log=lambda text: None,
        )
        driver: Driver = self.driver_class()(context)
        try:
            driver.admit(scenarios)
            driver.afford(scenarios)
        finally:
            assert journal.made == [], "something was made while the workflow was admitted"
            assert not nowhere.parent.exists()

    def refusal(self, scenario: Scenario) -> SfcperfError:
        """What it says to what it cannot build."""
        with pytest.raises((WorkflowError, EnvironmentLacks)) as refused:
            self.admit(scenario)
        error: SfcperfError = refused.value
        assert error.message.strip()
        if isinstance(error, WorkflowError):
            assert error.where is not None and error.where.startswith("/"), "where in the workflow?"
        return error

    def test_it_admits_chains(self) -> None:
        """All scenarios of a workflow at once, of length 0, 1 and 3."""
        self.admit(*(self.chain(length) for length in (0, 1, 3)))

    @pytest.mark.parametrize("what", IMPOSSIBLE)
    def test_it_refuses_the_impossible(self, what: str) -> None:
        """One scenario of several is enough."""
        self.refusal(IMPOSSIBLE[what](self.chain(1)))

    @pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
    def test_an_explicit_encapsulation_is_built_or_refused(self, encapsulation: Any) -> None:
        """Never replaced by another one: only `auto` leaves the choice to the driver."""
        scenario = self.chain(1, encapsulation=encapsulation)
        if encapsulation in self.encapsulations:
            self.admit(scenario)
        else:
            error = self.refusal(scenario)
            assert error.where == "/chain/encapsulation"

    @pytest.mark.parametrize("feature", ["bypass", "match"])
    def test_what_it_does_not_build_it_refuses(self, feature: str) -> None:
        """And what it does not refuse is built by further tests."""
        scenario = (
            self.chain(1, reverse="bypass")
            if feature == "bypass"
            else self.chain(1, match=Match("icmp"))
        )
        if feature in self.refuses:
            self.refusal(scenario)
        else:
            self.admit(scenario)


def _with_vcpus(scenario: Scenario, vcpus: int) -> Scenario:
    functions = tuple(
        replace(function, resources=replace(function.resources, vcpus=vcpus))
        for function in scenario.chain.functions
    )
    return replace(scenario, chain=replace(scenario.chain, functions=functions))


class _NothingIsMade:
    """The journal of a driver that only answers."""

    def __init__(self) -> None:
        self.made: list[Resource] = []

    def intend(self, resources: Iterable[Resource]) -> None:
        """Remembered, since a driver may catch what is raised."""
        self.made += resources
        raise AssertionError(f"made while the workflow was admitted: {self.made}")

    def removed(self, resources: Iterable[Resource]) -> None:
        """Nothing to note."""

    def outstanding(self) -> list[Resource]:
        """Nothing."""
        return []
