"""Layout: every name, address and port number of a scenario on this machine, before it is built.

Pure: the same scenario and tag give the same layout. Everything is in separate namespaces, so that
addresses of the underlay can be fixed without affecting the machine's.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf import plugins
from sfcperf.vnfs.base import NetworkFunction
from sfcperf.workflow.model import EndpointSpec, FunctionSpec, Link, Scenario

RUN_FOLDER = Path("/run")
"""Folder for the sockets of SFFs. It is short, because a socket's path may not be longer than 107
bytes."""

WIRE_MTU = 1500
"""Usual MTU of every link and attachment, bytes of IP packet: as on a wire."""
LARGEST_WIRE_MTU = 3400
"""A veth with an XDP program takes packets of up to 3506 bytes (a page of 4096 with the room that
XDP and the kernel need), the SFF's own header among them."""

GPE_OVERHEAD = 20 + 8 + 8 + 24 + 14
"""Bytes that VXLAN-GPE adds to an IP packet: IPv4, UDP, VXLAN-GPE, NSH MD 1, inner Ethernet."""
NSH_OVERHEAD = 24 + 14
"""Bytes that NSH over Ethernet adds: NSH MD 1, inner Ethernet."""

TUNNEL_PORT = 100
"""OpenFlow port of the VXLAN-GPE tunnel on the SFF; ports of instances are below and above it."""

INTERFACE_NAME_LENGTH = 15


@dataclass(frozen=True)
class Port:
    """An attachment of an instance to the SFF of its node: a veth pair."""

    instance: str
    node: str
    ofport: int
    """Number of the port at the SFF: the OpenFlow port of Open vSwitch, and the port in sfc-sff's
    tables. On bmv2, `bmv2_entries.port_number` derives its own from it."""
    outer: str
    """Interface in the node's namespace."""
    inner: str
    """Interface in the instance's namespace."""
    mac: str
    """MAC address of the inner interface."""
    address: str | None
    """IPv4 address of the inner interface, if it has one."""


@dataclass(frozen=True)
class EndpointPort(Port):
    """The attachment of an endpoint, which always has an address."""

    address: str


@dataclass(frozen=True)
class FunctionLayout:
    """An SF: its specification and its one or two attachments."""

    spec: FunctionSpec
    type: type[NetworkFunction]
    ports: tuple[Port, ...]
    """Ingress, then egress if there are two."""

    @property
    def needs_xdp(self) -> bool:
        """Whether the SF returns frames by XDP, so that the SFF's end of its veths must carry an
        XDP program."""
        return self.type.peer_needs_xdp(self.spec.knobs)

    @property
    def ingress(self) -> Port:
        """Where forward traffic reaches the SF."""
        return self.ports[0]

    @property
    def egress(self) -> Port:
        """Where forward traffic leaves the SF."""
        return self.ports[-1]


@dataclass(frozen=True)
class NodeLayout:
    """A node: a namespace with an SFF."""

    name: str
    namespace: str
    address: str
    """IPv4 address of the SFF in the underlay."""
    mac: str
    """MAC address of the SFF in the underlay."""
    folder: Path
    """Folder for the files of its SFF, such as sockets, database and logs of an Open vSwitch."""
    next_hop: dict[str, str]
    """Other node -> neighbour through which it is reached."""


@dataclass(frozen=True)
class LinkLayout:
    """A link: a veth pair between two nodes' namespaces."""

    link: Link
    nodes: tuple[str, str]
    interfaces: tuple[str, str]
    ofports: tuple[int, int]
    """Number of each end among the links of its node, from 1; on Open vSwitch, its OpenFlow port at
    the bridge `und`."""


@dataclass(frozen=True)
class Layout:
    """Every name, address and port number of one scenario."""

    nodes: dict[str, NodeLayout]
    links: tuple[LinkLayout, ...]
    client: EndpointPort
    server: EndpointPort
    functions: tuple[FunctionLayout, ...]
    folder: Path
    """Folder of this run below RUN_FOLDER; those of the nodes are in it."""
    namespaces: dict[str, str]
    """Instance -> name of its network namespace."""
    encapsulation: str
    """`none` without a chain, else `nsh-eth` or `nsh-vxlan-gpe`."""
    wire_mtu: int
    """MTU of every link and attachment, bytes of IP packet."""

    @property
    def needs_underlay(self) -> bool:
        """Whether there are tunnels: between nodes, or towards SFs."""
        return len(self.nodes) > 1 or self.encapsulation == "nsh-vxlan-gpe"

    def mtu(self, port: Port, endpoint_mtu: int) -> int:
        """Return the MTU of the inner interface of an attachment, bytes of IP packet. An endpoint
        gets `endpoint_mtu`, which leaves room for NSH.

        Functions behind an SFC proxy may add in-band data: they get what fits on the wire once
        their packets are encapsulated. Larger packets would be lost there.
        """
        if port in (self.client, self.server):
            return endpoint_mtu
        if any(port in function.ports and function.type.nsh_aware for function in self.functions):
            return self.wire_mtu
        return self.largest_packet

    @property
    def largest_packet(self) -> int:
        """Bytes of the largest IP packet that fits on the wire once it is encapsulated."""
        return self.wire_mtu - (GPE_OVERHEAD if self.needs_underlay else NSH_OVERHEAD)

    def ports(self, node: str) -> list[Port]:
        """Attachments on a node's SFF."""
        all_ports = [self.client, self.server, *(p for f in self.functions for p in f.ports)]
        return [port for port in all_ports if port.node == node]

    def interfaces(self, node: str) -> tuple[str, ...]:
        """All ports of a node's SFF: attachments and links."""
        links = (
            link.interfaces[link.nodes.index(node)] for link in self.links if node in link.nodes
        )
        return (*(port.outer for port in self.ports(node)), *links)


def lay_out(scenario: Scenario, tag: str, wire_mtu: int = WIRE_MTU) -> Layout:
    """Return the layout of a scenario in the run with this tag. `wire_mtu`: MTU of every link and
    attachment, bytes of IP packet."""
    encapsulation = _encapsulation(scenario)
    nodes = _nodes(scenario, tag)
    functions: list[FunctionLayout] = []
    for spec in scenario.chain.functions:
        kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
        ports = _function_ports(spec, kind, tag, encapsulation)
        functions.append(FunctionLayout(spec, kind, ports))
    names = ["client", "server", *(function.spec.name for function in functions)]
    return Layout(
        nodes=nodes,
        links=_links(scenario),
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


def _nodes(scenario: Scenario, tag: str) -> dict[str, NodeLayout]:
    """Return the nodes by name. Their addresses and folders are numbered from 1."""
    names = [node.name for node in scenario.topology.nodes]
    hops = next_hops(names, [link.between for link in scenario.topology.links])
    return {
        name: NodeLayout(
            name=name,
            namespace=namespace_name(tag, f"sff@{name}"),
            address=f"10.255.0.{index}",
            mac=_mac(tag, 3, index),
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
        mac=_mac(tag, 1, number),
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
                mac=_mac(tag, 2, number),
                address=f"10.254.0.{number}" if tunnelled else None,
            )
        )
    return tuple(ports)


def _mac(tag: str, kind: int, number: int) -> str:
    """Return a locally administered MAC address, which carries the first three characters of the
    run's tag. `kind`: 1 for endpoints, 2 for functions, 3 for nodes; `number`: unique in its
    kind."""
    octets = [0x02, kind, *tag.encode()[:3], number]
    return ":".join(f"{octet:02x}" for octet in octets)


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
