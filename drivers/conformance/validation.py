"""What a driver refuses, with the place in the workflow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sfcperf.drivers.conformance import programs
from sfcperf.drivers.conformance.driver_under_test import DriverUnderTest
from sfcperf.errors import EnvironmentLacks, SfcperfError, WorkflowError
from sfcperf.workflow.model import Match, Scenario

IMPOSSIBLE: dict[str, Callable[[Scenario], Scenario]] = {
    "100000 vCPUs": lambda chain: _with_vcpus(chain, 100_000),
    "one address for both endpoints": lambda chain: replace(
        chain,
        client=replace(chain.client, address="10.11.12.13"),
        server=replace(chain.server, address="10.11.12.13"),
    ),
    "an unknown option of an endpoint": lambda chain: replace(
        chain, client=replace(chain.client, options={"no-such-option": 1})
    ),
}
"""Description -> function that makes a good chain impossible to build."""
ENCAPSULATIONS = ("nsh-eth", "nsh-vxlan-gpe", "mpls")
FEATURES: dict[str, dict[str, Any]] = {
    "bypass": {"reverse": "bypass"},
    "match": {"match": Match("icmp")},
    "bridged": {"vnf": "program", "knobs": programs.BRIDGED},
}
"""What a driver may refuse -> how a chain asks for it."""


class Validation(DriverUnderTest):
    """Tests of `validate` and `check_capacity`."""

    def accept(self, *scenarios: Scenario) -> None:
        """Check scenarios as a run does before it begins: by `validate`, then by
        `check_capacity`."""
        self.check_environment()
        driver = self.driver_class()
        driver.validate(self.full_config(), scenarios)
        driver.check_capacity(self.full_config(), scenarios)

    def refusal(self, scenario: Scenario) -> SfcperfError:
        """Return the error by which the driver refuses a scenario that it cannot build."""
        with pytest.raises((WorkflowError, EnvironmentLacks)) as refused:
            self.accept(scenario)
        error: SfcperfError = refused.value
        assert error.message.strip()
        if isinstance(error, WorkflowError):
            assert error.where is not None and error.where.startswith("/"), (
                "`where` must be a JSON pointer into the workflow"
            )
        return error

    def test_it_accepts_chains(self) -> None:
        """The driver accepts all scenarios of a workflow at once: chains of length 0, 1 and 3."""
        self.accept(*(self.chain(length) for length in (0, 1, 3)))

    @pytest.mark.parametrize("what", IMPOSSIBLE)
    def test_it_refuses_the_impossible(self, what: str) -> None:
        """The driver refuses each of IMPOSSIBLE, by EnvironmentLacks or by a WorkflowError that
        says where."""
        self.refusal(IMPOSSIBLE[what](self.chain(1)))

    @pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
    def test_an_explicit_encapsulation_is_built_or_refused(self, encapsulation: Any) -> None:
        """The driver builds an explicit encapsulation or refuses it: only `auto` leaves the choice
        to the driver."""
        scenario = self.chain(1, encapsulation=encapsulation)
        if encapsulation in self.encapsulations:
            self.accept(scenario)
        else:
            error = self.refusal(scenario)
            assert error.where == "/chain/encapsulation"

    def test_a_program_that_takes_nsh_is_built_or_refused(self) -> None:
        """A program gets NSH frames only from a driver that gives them to functions."""
        scenario = self.chain(1, vnf="program", knobs={"attach": "nsh", "command": ["true"]})
        if "nsh-eth" in self.encapsulations:
            self.accept(scenario)
        else:
            error = self.refusal(scenario)
            assert (error.where or "").startswith("/vnfs/sf/")

    @pytest.mark.parametrize("feature", FEATURES)
    def test_it_refuses_what_it_does_not_build(self, feature: str) -> None:
        """The driver refuses the features in `refuses`; other tests build those that it accepts."""
        scenario = self.chain(1, **FEATURES[feature])
        if feature in self.refuses:
            self.refusal(scenario)
        else:
            self.accept(scenario)


def _with_vcpus(scenario: Scenario, vcpus: int) -> Scenario:
    functions = tuple(
        replace(function, resources=replace(function.resources, vcpus=vcpus))
        for function in scenario.chain.functions
    )
    return replace(scenario, chain=replace(scenario.chain, functions=functions))
