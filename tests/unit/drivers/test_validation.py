"""What the local driver refuses before it makes anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.records.scenarios import scenario, topology

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.local.layout import lay_out
from sfcperf.drivers.local.validation import validate
from sfcperf.errors import EnvironmentLacks, SfcperfError, WorkflowError
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import EndpointSpec, Link, Node, Resources, Scenario, Topology


def refusal(asked: Scenario) -> SfcperfError:
    with pytest.raises((WorkflowError, EnvironmentLacks)) as caught:
        validate(asked, lay_out(asked, "abc123"))
    return caught.value


def with_topology(**changes: Any) -> Scenario:
    return scenario(["forwarder"], where=replace(topology("T2"), **changes))


def test_what_can_be_built_is_accepted() -> None:
    for place in ("T1", "T2", "T3"):
        asked = scenario(["forwarder"] * 32, where=topology(place))
        validate(asked, lay_out(asked, "abc123"))


@pytest.mark.parametrize(
    ("config", "allowed"),
    [
        ({"mtu": 1500}, "at most 1426, or a wire_mtu from 1574 to 3400"),
        ({"mtu": 1500, "wire_mtu": 1573}, "at most 1499, or a wire_mtu from 1574 to 3400"),
    ],
)
def test_encapsulated_packets_fit_on_the_wire(config: dict[str, int], allowed: str) -> None:
    LocalDriver.validate(with_defaults(LocalDriver.parameters, {"mtu": 1500, "wire_mtu": 1574}), [])
    with pytest.raises(WorkflowError) as caught:
        LocalDriver.validate(with_defaults(LocalDriver.parameters, config), [scenario()])
    assert (caught.value.where, caught.value.allowed) == ("/infrastructure/config/mtu", allowed)


def test_a_program_does_not_get_an_encapsulation_that_it_does_not_take() -> None:
    knobs = {"attach": "nsh", "command": ["x"]}
    tunnelled = scenario(["program"], encapsulation="nsh-vxlan-gpe", knobs=knobs)
    assert refusal(tunnelled).where == "/vnfs/program/knobs/encapsulations"
    both = {**knobs, "encapsulations": ["nsh-eth", "nsh-vxlan-gpe"]}
    for encapsulation in ("auto", *both["encapsulations"]):
        asked = scenario(["program"], encapsulation=encapsulation, knobs=both)
        validate(asked, lay_out(asked, "abc123"))


APART = Topology("apart", (Node("a"), Node("b")), (), {"client": "a", "chain": "b", "server": "a"})


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        (
            replace(scenario(), server=EndpointSpec("server", "node1", address="10.0.0.1")),
            "/endpoints",
        ),
        (
            replace(scenario(), client=EndpointSpec("client", "node1", options={"ssh": "there"})),
            "/endpoints/client/options",
        ),
        (
            with_topology(nodes=(Node("node1"), Node("node2", memory_mib=512))),
            "/topology/nodes/node2/memory_mib",
        ),
        # tbf cannot hold it.
        (
            with_topology(links=(Link(("node1", "node2"), rate_bps=100_000_000_000),)),
            "/topology/links/0/rate_bps",
        ),
        (scenario(["forwarder"], where=APART), "/topology/links"),
        (
            scenario(["forwarder"], resources=Resources(vcpus=4096)),
            "/vnfs/forwarder/resources/vcpus",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_built_is_refused(asked: Scenario, where: str) -> None:
    assert refusal(asked).where == where


def test_a_path_that_uses_up_the_ttl() -> None:
    """32 functions, each on the other node than the one before: two lookups for each."""
    asked = scenario(["forwarder"] * 32, where=topology("T2"), nodes=["node2", "node1"] * 16)
    assert "look up a packet 65 times" in refusal(asked).message
