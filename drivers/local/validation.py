"""What the local driver cannot build."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sfcperf.drivers.local.cpus import CpuAssignment, machine_cpus
from sfcperf.drivers.local.network import MAX_RATE_BPS
from sfcperf.drivers.local.sff.bmv2 import MONITOR, monitored
from sfcperf.drivers.local.sff.bmv2_entries import MOST_LINKS
from sfcperf.drivers.sff.layout import GPE_OVERHEAD, LARGEST_WIRE_MTU, Layout
from sfcperf.drivers.sff.paths import MOST_LOOKUPS, paths
from sfcperf.errors import InputError, WorkflowError
from sfcperf.plugins import integer
from sfcperf.vnfs.base import check_encapsulation
from sfcperf.vnfs.sfcmon.bmv2 import limits
from sfcperf.workflow.model import Scenario

MTU = integer(
    f"MTU of the endpoints, bytes of IP packet: at least {GPE_OVERHEAD} less than wire_mtu, so "
    "that packets with the largest encapsulation still fit.",
    (576, LARGEST_WIRE_MTU - GPE_OVERHEAD),
    default=1400,
)
"""JSON Schema of the parameter `mtu`, which `check_mtu` checks."""


def validate(scenario: Scenario, layout: Layout) -> None:
    """Raises WorkflowError for what this driver cannot build, EnvironmentLacks for too few CPUs."""
    check_chain(scenario, layout)
    nodes = scenario.topology.nodes
    cpus = CpuAssignment(nodes, machine_cpus())
    check_cpus(scenario, dict.fromkeys((node.name for node in nodes), cpus))


def check_chain(scenario: Scenario, layout: Layout) -> None:
    """Raises WorkflowError for what nodes with an SFF cannot build, on whatever machine they
    are."""
    _check_encapsulation(scenario, layout)
    _check_endpoints(scenario, layout)
    _check_topology(scenario, layout)
    _check_paths(scenario, layout)


def check_mtu(config: Mapping[str, Any]) -> None:
    """Raises WorkflowError when encapsulated packets would not fit on the wire."""
    mtu, wire_mtu = config["mtu"], config["wire_mtu"]
    if mtu + GPE_OVERHEAD > wire_mtu:
        raise WorkflowError(
            f"packets of {mtu} bytes and {GPE_OVERHEAD} of encapsulation do not fit into wire_mtu, "
            f"{wire_mtu} bytes",
            where="/infrastructure/config/mtu",
            allowed=f"at most {wire_mtu - GPE_OVERHEAD}, or a wire_mtu from {mtu + GPE_OVERHEAD} "
            f"to {LARGEST_WIRE_MTU}",
        )


def _check_encapsulation(scenario: Scenario, layout: Layout) -> None:
    if scenario.chain.encapsulation == "mpls":
        raise WorkflowError(
            "this driver chains by NSH: it has no MPLS",
            where="/chain/encapsulation",
            allowed='"auto", "nsh-eth" or "nsh-vxlan-gpe"',
        )
    for function in layout.functions:
        encapsulation = layout.encapsulation if function.type.nsh_aware else "none"
        check_encapsulation(function.spec, encapsulation)


def _check_endpoints(scenario: Scenario, layout: Layout) -> None:
    """Refuse equal addresses, and options of endpoints."""
    if layout.client.address == layout.server.address:
        raise WorkflowError(
            f"client and server would both have the address {layout.client.address}",
            where="/endpoints",
            hint="give both an address, or neither",
        )
    for endpoint in (scenario.client, scenario.server):
        if endpoint.options:
            raise WorkflowError(
                "this driver creates its endpoints itself and takes no options",
                where=f"/endpoints/{endpoint.name}/options",
            )


def _check_topology(scenario: Scenario, layout: Layout) -> None:
    """Refuse limits of a node's memory, links that are too fast to shape, and nodes in use that are
    not connected."""
    for node in scenario.topology.nodes:
        if node.memory_mib is not None:
            raise WorkflowError(
                "this driver does not limit the memory of a node",
                where=f"/topology/nodes/{node.name}/memory_mib",
                hint="limit its VNFs by resources.memory_mib",
            )
    for number, link in enumerate(scenario.topology.links):
        if link.rate_bps is not None and link.rate_bps > MAX_RATE_BPS:
            raise WorkflowError(
                f"this driver shapes links to at most {MAX_RATE_BPS} bit/s",
                where=f"/topology/links/{number}/rate_bps",
                allowed=f"at most {MAX_RATE_BPS}, or no rate_bps at all",
            )
    used = {layout.client.node, layout.server.node, *(f.spec.node for f in layout.functions)}
    for name in sorted(used):
        missing = used - {name} - set(layout.nodes[name].next_hop)
        if missing:
            raise WorkflowError(
                f"there is no path from {name} to {', '.join(sorted(missing))}",
                where="/topology/links",
            )


def _check_paths(scenario: Scenario, layout: Layout) -> None:
    """Refuse paths on which the TTL of the NSH would reach 0."""
    for path in paths(layout, scenario):
        lookups = 0 if path is None else len(path.places)
        if lookups > MOST_LOOKUPS:
            raise WorkflowError(
                f"SFFs would look up a packet {lookups} times, and the TTL of the NSH allows "
                f"{MOST_LOOKUPS}",
                where="/chain/functions",
                hint="keep neighbouring functions on one node",
            )


def check_cpus(scenario: Scenario, cpus: Mapping[str, CpuAssignment]) -> None:
    """Assign CPUs as a deployment does, so that it raises EnvironmentLacks where they do not
    suffice. `cpus`: node -> the CPUs of its machine."""
    for function in scenario.chain.functions:
        where = f"/vnfs/{function.vnf}/resources/vcpus"
        node = function.node
        cpus[node].assign(function.name, node, function.resources.vcpus, where)
    for end in (scenario.client, scenario.server):
        if end.resources is not None:
            where = f"/endpoints/{end.name}/resources/vcpus"
            cpus[end.node].assign(end.name, end.node, end.resources.vcpus, where)


def check_bmv2(scenario: Scenario, layout: Layout, nodes: Collection[str]) -> None:
    """Raises WorkflowError for what the nodes on bmv2 have no room for, or cannot do."""
    if nodes and scenario.chain.bypass_unparsed:
        raise WorkflowError(
            "the data plane bmv2 drops what its classifier cannot parse, always",
            where="/chain/classifier/bypass_unparsed",
            allowed="false, or another data plane",
        )
    for function in layout.functions:
        if function.is_inline and function.spec.node in nodes:
            raise WorkflowError(
                f"{function.spec.name} leaves frames as they are: the data plane bmv2 cannot "
                "address them to the endpoint beyond it",
                where=f"/vnfs/{function.spec.vnf}/knobs",
                allowed="another data plane",
            )
    for node in nodes:
        links = sum(node in link.nodes for link in layout.links)
        if links > MOST_LINKS:
            raise WorkflowError(
                f"{node} has {links} links, and a switch on bmv2 has ports for {MOST_LINKS}",
                where="/topology/links",
            )
    for number, spec in enumerate(scenario.monitors):
        if spec.monitor == MONITOR and any(monitored(spec.parameters, node) for node in nodes):
            try:
                limits.check_sizes(spec.parameters)
            except InputError as error:
                raise WorkflowError(
                    error.message, where=f"/monitors/{number}/{error.where}", allowed=error.allowed
                ) from error
