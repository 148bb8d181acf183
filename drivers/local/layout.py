"""Layout: every name, address and port number of a scenario on this machine, before it is built.

Pure: the same scenario and tag give the same layout. Everything is in separate namespaces, so that
addresses of the underlay can be fixed without affecting the machine's.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf.drivers.local.nics import Nic
from sfcperf.drivers.sff.layout import (
    EndpointPort,
    FunctionLayout,
    Layout,
    LinkLayout,
    NodeLayout,
    Port,
    mac_address,
)
from sfcperf.vnfs.base import NetworkFunction, function_type
from sfcperf.workflow.model import EndpointSpec, FunctionSpec, Scenario

RUN_FOLDER = Path("/run")
"""Folder for the sockets of SFFs. It is short, because a socket's path may not be longer than 107
bytes."""

WIRE_MTU = 1500
"""Usual MTU of every link and attachment, bytes of IP packet: as on a wire."""
TUNNEL_PORT = 100
"""OpenFlow port of the VXLAN-GPE tunnel on the SFF; ports of instances are below and above it."""

INTERFACE_NAME_LENGTH = 15


@dataclass(frozen=True)
class LocalNode(NodeLayout):
    """A node: a namespace with an SFF."""

    namespace: str
    folder: Path
    """Folder for the files of its SFF, such as sockets, database and logs of an Open vSwitch."""
    card: Nic | None = None
    """The network card that connects it with the other nodes; None: links do."""


@dataclass(frozen=True)
class LocalLayout(Layout):
    """Every name, address and port number of one scenario on this machine."""

    nodes: Mapping[str, LocalNode]
    folder: Path
    """Folder of this run below RUN_FOLDER; those of the nodes are in it."""
    namespaces: dict[str, str]
    """Instance -> name of its network namespace."""


def lay_out(scenario: Scenario, tag: str, wire_mtu: int = WIRE_MTU) -> LocalLayout:
    """Return the layout of a scenario in the run with this tag. `wire_mtu`: MTU of every link and
    attachment, bytes of IP packet."""
    encapsulation = _encapsulation(scenario)
    nodes = _nodes(scenario, tag)
    functions: list[FunctionLayout] = []
    for spec in scenario.chain.functions:
        kind = function_type(spec)
        ports = _function_ports(spec, kind, tag, encapsulation)
        functions.append(FunctionLayout(spec, kind, ports))
    names = ["client", "server", *(function.spec.name for function in functions)]
    return LocalLayout(
        nodes=nodes,
        links=_links(scenario),
        lan={},
        client=_endpoint(scenario.client, 1, tag),
        server=_endpoint(scenario.server, 2, tag),
        functions=tuple(functions),
        folder=RUN_FOLDER / f"sfcperf-{tag}",
        namespaces={name: namespace_name(tag, name) for name in names},
        encapsulation=encapsulation,
        wire_mtu=wire_mtu,
    )


def namespace_name(tag: str, instance: str) -> str:
    """Name of an instance's network namespace."""
    return f"sfcperf-{tag}-{instance}"


def _encapsulation(scenario: Scenario) -> str:
    if not scenario.chain.functions:
        return "none"
    encapsulation = scenario.chain.encapsulation
    return "nsh-eth" if encapsulation == "auto" else encapsulation


def _nodes(scenario: Scenario, tag: str) -> dict[str, LocalNode]:
    """Return the nodes by name. Their addresses and folders are numbered from 1."""
    names = [node.name for node in scenario.topology.nodes]
    hops = next_hops(names, [link.between for link in scenario.topology.links])
    return {
        name: LocalNode(
            name=name,
            namespace=namespace_name(tag, f"sff@{name}"),
            address=f"10.255.0.{index}",
            mac=mac_address(tag, 3, index),
            folder=RUN_FOLDER / f"sfcperf-{tag}" / f"n{index}",
            next_hop=hops[name],
        )
        for index, name in enumerate(names, start=1)
    }


def _links(scenario: Scenario) -> tuple[LinkLayout, ...]:
    """Number the links, and each end among the links of its node, from 1."""
    used: Counter[str] = Counter()
    links = []
    for number, link in enumerate(scenario.topology.links, start=1):
        used.update(link.between)
        first, second = link.between
        # Never the name of an instance: functions' names end with a dash and a number.
        names = (f"link{number}a", f"link{number}b")
        links.append(LinkLayout(link, link.between, names, (used[first], used[second])))
    return tuple(links)


def _endpoint(spec: EndpointSpec, number: int, tag: str) -> EndpointPort:
    """Return the attachment of an endpoint. `number`: 1 for the client, 2 for the server. Without
    an address in the workflow it gets 10.0.0.1 or 10.0.0.2."""
    return EndpointPort(
        instance=spec.name,
        node=spec.node,
        ofport=number,
        outer=spec.name,
        inner="eth0",
        mac=mac_address(tag, 1, number),
        address=spec.address or f"10.0.0.{number}",
    )


def _function_ports(
    spec: FunctionSpec, kind: type[NetworkFunction], tag: str, encapsulation: str
) -> tuple[Port, ...]:
    """Return the attachments of a function. They have an address if the SF is reached by
    VXLAN-GPE."""
    tunnelled = kind.nsh_aware and encapsulation == "nsh-vxlan-gpe"
    ports = []
    for arm in range(kind.interfaces):
        # 32 SFs with two arms end at 110 + 64; the tunnel and the links have lower numbers.
        number = 110 + 2 * (spec.position - 1) + arm
        suffix = "" if kind.interfaces == 1 else ("-in", "-out")[arm]
        outer = spec.name + suffix
        if len(outer) > INTERFACE_NAME_LENGTH:
            outer = f"sf{spec.position}{suffix}"
        ports.append(
            Port(
                instance=spec.name,
                node=spec.node,
                ofport=number,
                outer=outer,
                inner=f"eth{arm}",
                mac=mac_address(tag, 2, number),
                address=f"10.254.0.{number}" if tunnelled else None,
            )
        )
    return tuple(ports)


def next_hops(nodes: Sequence[str], links: Sequence[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Shortest paths by number of links: node -> destination -> neighbour. Destinations that cannot
    be reached are absent."""
    adjacent: dict[str, list[str]] = {node: [] for node in nodes}
    for first, second in links:
        adjacent[first].append(second)
        adjacent[second].append(first)
    return {node: _first_steps(node, adjacent) for node in nodes}


def _first_steps(start: str, adjacent: dict[str, list[str]]) -> dict[str, str]:
    """Search breadth first, and return for each other node the neighbour of `start` by which it was
    first reached."""
    first_step: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for neighbour in adjacent[node]:
            if neighbour != start and neighbour not in first_step:
                first_step[neighbour] = first_step.get(node, neighbour)
                waiting.append(neighbour)
    return first_step
