"""What a scenario is made of, and contradictions that a schema cannot see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.workflows.plugins import findings_at, pointers

from sfcperf.errors import WorkflowError
from sfcperf.workflow.model import Link, Match, Resources
from sfcperf.workflow.topology import DESCRIPTIONS, PRESETS

TWO: dict[str, Any] = {
    "nodes": {"a": {}, "b": {}},
    "placement": {"client": "a", "server": "a", "chain": "b"},
}


def test_defaults(load: Any) -> None:
    workflow = load()
    (scenario,) = workflow.scenarios
    assert (workflow.driver, workflow.config) == ("local", {"dataplane": "ovs"})
    assert workflow.publish[0].parameters == {"colour": True}
    assert (workflow.design.rounds, workflow.design.max_retries) == (6, 2)
    assert workflow.design.stop_when is None
    assert load(design={"stop_when": None}).design.stop_when is None
    assert (scenario.levels, scenario.topology.name) == ({}, "T1")
    assert scenario.probes[0].parameters == {"count": 20, "size": 56}
    chain = scenario.chain
    assert [(f.name, f.position, f.node) for f in chain.functions] == [
        ("fwd-1", 1, "node1"),
        ("fwd-2", 2, "node1"),
    ]
    assert (chain.match, chain.encapsulation, chain.reverse) == (Match(), "auto", "symmetric")
    assert (chain.spi, chain.initial_si) == (1, 255)


def test_presets_place_as_the_paper_does(load: Any) -> None:
    nodes = {}
    for name in PRESETS:
        (scenario,) = load(topology=name).scenarios
        nodes[name] = (scenario.client.node, scenario.chain.functions[0].node, scenario.server.node)
    assert nodes == {
        "T1": ("node1", "node1", "node1"),
        "T2": ("node1", "node2", "node1"),
        "T3": ("node1", "node2", "node3"),
    }
    assert DESCRIPTIONS.keys() == PRESETS.keys()


def test_a_topology_of_ones_own(load: Any) -> None:
    topology = {
        **TWO,
        "name": "mine",
        "nodes": {"a": {"vcpus": 2, "memory_mib": 512}, "b": {}},
        "links": [{"between": ["b", "a"], "rate_bps": 10**6}],
    }
    (scenario,) = load(topology=topology).scenarios
    assert scenario.topology.links == (Link(("b", "a"), 10**6),)
    assert scenario.topology.nodes[0].vcpus == 2
    assert len(load(topology=TWO).scenarios[0].topology.links) == 1


def test_the_most_particular_node_wins(load: Any) -> None:
    (scenario,) = load(
        topology=TWO,
        endpoints={"server": {"node": "b", "address": "10.0.0.2", "resources": {"vcpus": 2}}},
        vnfs={"fwd": {"type": "copier"}, "fw": {"type": "copier", "node": "a"}},
        chain={"functions": [{"vnf": "fwd"}, {"vnf": "fw"}, {"vnf": "fw", "node": "b"}]},
    ).scenarios
    assert [f.node for f in scenario.chain.functions] == ["b", "a", "b"]
    assert [f.name for f in scenario.chain.functions] == ["fwd-1", "fw-1", "fw-2"]
    assert (scenario.client.node, scenario.server.node) == ("a", "b")
    assert scenario.server.resources == Resources(2, 256)
    assert scenario.client.resources is None


def test_resources_come_from_the_workflow_then_the_descriptor(load: Any, tmp_path: Path) -> None:
    def resources(**vnf: Any) -> Resources:
        whole = load(vnfs={"fwd": {"type": "copier", **vnf}})
        found: Resources = whole.scenarios[0].chain.functions[0].resources
        return found

    assert resources() == Resources(2, 512)
    assert resources(resources={"vcpus": 4}) == Resources(4, 512)
    assert resources(resources={"vcpus": 4, "memory_mib": 64}) == Resources(4, 64)
    (tmp_path / "own.yaml").write_text(
        "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n"
        "topology_template: {node_templates: {VDU1: {type: tosca.nodes.nfv.VDU}}}\n"
    )
    assert resources(vnfd="own.yaml") == Resources(1, 256)
    assert resources(vnfd="./own.yaml", resources={"vcpus": 3}) == Resources(3, 256)


def test_a_size_that_is_an_open_input_is_not_guessed(load: Any, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n"
        "topology_template:\n  inputs: {n: {type: integer}}\n  node_templates:\n"
        "    VDU1:\n      type: tosca.nodes.nfv.VDU\n"
        "      capabilities: {host: {properties: {num_cpus: {get_input: n}}}}\n"
    )
    vnf = {"type": "copier", "vnfd": "own.yaml"}
    with pytest.raises(WorkflowError, match="vcpus") as caught:
        load(vnfs={"fwd": vnf})
    assert caught.value.where == "/vnfs/fwd/vnfd"
    (scenario,) = load(vnfs={"fwd": {**vnf, "resources": {"vcpus": 3}}}).scenarios
    assert scenario.chain.functions[0].resources == Resources(3, 256)


def chain(length: int = 0, **more: Any) -> dict[str, Any]:
    functions = [{"vnf": "fwd", "count": length}] if length else []
    return {"chain": {"functions": functions, **more}}


def match(**values: Any) -> dict[str, Any]:
    return chain(classifier={"match": values})


def linked(*links: tuple[str, str]) -> dict[str, Any]:
    return {"topology": {**TWO, "links": [{"between": list(link)} for link in links]}}


def fwd(**vnf: Any) -> dict[str, Any]:
    return {"vnfs": {"fwd": {"type": "copier", **vnf}}}


MATCH = "/chain/classifier/match"
SHORT_STOP = {"rounds": 9, "stop_when": {"relative_half_width": 0.1, "max_rounds": 8}}
NO_NODE_C = {**TWO, "placement": {**TWO["placement"], "server": "c"}}
SAME_ADDRESS = {end: {"address": "10.0.0.1"} for end in ("client", "server")}
TWO_CASES = {"nodes": {"a": {}, "A": {}}, "placement": {}}


@pytest.mark.parametrize(
    ("changes", "pointer", "message"),
    [
        ({"chain": {"functions": [{"vnf": "fvd"}]}}, "/chain/functions/0/vnf", "no VNF 'fvd'"),
        ({"chain": {"functions": [{"vnf": "fwd", "count": 20}] * 2}}, "/chain/functions", "40"),
        (chain(3, initial_si=3), "/chain/initial_si", "runs out"),
        ({"topology": NO_NODE_C}, "/topology/placement/server", "no node 'c'"),
        ({"topology": {"nodes": {"a": {}, "b": {}}}}, "/topology", "several nodes"),
        (linked(), "/topology/links", "from a to b"),
        (linked(("a", "c")), "/topology/links/0/between/1", "no node 'c'"),
        (linked(("a", "a")), "/topology/links/0/between", "two different nodes"),
        (linked(("a", "b"), ("b", "a")), "/topology/links/1/between", "already linked"),
        ({"endpoints": {"client": {"node": "node2"}}}, "/endpoints/client/node", "no node"),
        (fwd(node="node2"), "/vnfs/fwd/node", "no node"),
        ({"endpoints": SAME_ADDRESS}, "/endpoints/server/address", "same address"),
        (match(source_port=1), f"{MATCH}/source_port", "protocol with ports"),
        (match(ip_proto="icmp", destination_port=1), f"{MATCH}/destination_port", "icmp"),
        (match(source="10.0.0.1/8"), f"{MATCH}/source", "not an IPv4 prefix"),
        ({"probes": [{"probe": "echo"}, {"probe": "echo", "count": 1}]}, "/probes/1", "2 probes"),
        ({"probes": [{"probe": "echo"}, {"probe": "echo", "name": "Echo"}]}, "/probes/1", "case"),
        ({"topology": TWO_CASES}, "/topology/nodes/A", "only in case"),
        ({"vnfs": {"fwd": {"type": "copier"}, "FWD": {"type": "copier"}}}, "/vnfs/FWD", "in case"),
        ({"monitors": [{"monitor": "watch"}] * 2}, "/monitors/1/monitor", "duplicate"),
        ({"publish": [{"to": "report"}] * 2}, "/publish/1/to", "duplicate"),
        ({"design": SHORT_STOP}, "/design/stop_when/max_rounds", "less than rounds"),
        (fwd(vnfd="absent.yaml"), "/vnfs/fwd/vnfd", "absent.yaml cannot be read"),
        (fwd(knobs={"engine": "slow", "batch": 64}), "/vnfs/fwd/knobs/batch", "too many for slow"),
    ],
)
def test_contradictions(refused: Any, changes: dict[str, Any], pointer: str, message: str) -> None:
    error = refused(**changes)
    found = findings_at(error, pointer)
    assert any(message in finding.message for finding in found), (pointers(error), str(error))


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("0.1.2.3", "an unspecified"),
        ("127.0.0.2", "a loopback"),
        ("169.254.1.1", "a link-local"),
        ("239.255.255.255", "a multicast"),
        ("240.0.0.1", "a reserved"),
        ("255.255.255.255", "the limited broadcast"),
    ],
)
def test_an_endpoint_is_one_host(refused: Any, address: str, kind: str) -> None:
    error = refused(endpoints={"server": {"address": address}})
    assert pointers(error) == {"/endpoints/server/address"}
    assert error.message.startswith(f"{address} is {kind} address")


@pytest.mark.parametrize("address", ["1.0.0.1", "10.0.0.255", "223.255.255.255"])
def test_addresses_of_hosts(load: Any, address: str) -> None:
    """The prefix is not the workflow's to know: 10.0.0.255 is a host of 10.0.0.0/16."""
    assert load(endpoints={"client": {"address": address}}).scenarios[0].client.address == address


@pytest.mark.parametrize(("rounds", "most"), [(3, 20), (30, 30)])
def test_sequential_stopping_never_stops_before_the_planned_rounds(
    load: Any, rounds: int, most: int
) -> None:
    design = load(design={"rounds": rounds, "stop_when": {"relative_half_width": 0.1}}).design
    assert design.stop_when.max_rounds == most


def test_traffic_outside_of_the_chain_needs_a_link_too(refused: Any, load: Any) -> None:
    topology = {
        "nodes": {"a": {}, "b": {}, "c": {}},
        "placement": {"client": "a", "chain": "b", "server": "c"},
        "links": [{"between": ["a", "b"]}, {"between": ["b", "c"]}],
    }
    chain = {"functions": [{"vnf": "fwd"}]}
    assert load(topology=topology, chain=chain)
    for more in ({"reverse": "bypass"}, {"classifier": {"match": {"ip_proto": "tcp"}}}):
        error = refused(topology=topology, chain={**chain, **more})
        assert "outside of the chain goes from a to c" in error.message


def test_a_chain_of_32_and_of_0(load: Any) -> None:
    for count in (0, 32):
        (scenario,) = load(chain={"functions": [{"vnf": "fwd", "count": count}]}).scenarios
        assert len(scenario.chain.functions) == count
    (scenario,) = load(chain={"functions": [{"vnf": "fwd", "count": 3}], "initial_si": 4}).scenarios
    assert scenario.chain.initial_si == 4
