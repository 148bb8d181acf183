"""Layout: the nodes of a scenario, their SFFs' ports, names, addresses and numbers, before anything
is built.

Drivers whose own SFFs make the chain lay it out, each by its own names; from the layout follow the
service function paths (`paths`) and the tables of the SFFs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfcperf.management.deployment import Redirection
from sfcperf.vnfs.base import NetworkFunction
from sfcperf.workflow.model import FunctionSpec, Link

LARGEST_WIRE_MTU = 3400
"""A veth with an XDP program takes packets of up to 3506 bytes (a page of 4096 with the room that
XDP and the kernel need), the SFF's own header among them."""

GPE_OVERHEAD = 20 + 8 + 8 + 24 + 14
"""Bytes that VXLAN-GPE adds to an IP packet: IPv4, UDP, VXLAN-GPE, NSH MD 1, inner Ethernet."""
NSH_OVERHEAD = 24 + 14
"""Bytes that NSH over Ethernet adds: NSH MD 1, inner Ethernet."""


@dataclass(frozen=True)
class Port:
    """An attachment of an instance to the SFF of its node: a veth pair."""

    instance: str
    node: str
    ofport: int
    """Number of the port at the SFF: the OpenFlow port of Open vSwitch, and the port in sfc-sff's
    tables. On bmv2, `bmv2_entries.port_number` derives its own from it."""
    outer: str
    """Interface of the node."""
    inner: str
    """Interface of the instance."""
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
    def is_inline(self) -> bool:
        """Whether the SF leaves frames as they are, which are addressed to the endpoint beyond
        it."""
        return self.type.inline(self.spec.knobs)

    @property
    def redirection(self) -> Redirection | None:
        """Which connections the SF ends; None: none."""
        return self.type.redirection(self.spec.knobs)

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
    """A node: a place with an SFF."""

    name: str
    address: str
    """IPv4 address of the SFF in the underlay."""
    mac: str
    """MAC address of the SFF in the underlay."""
    next_hop: Mapping[str, str]
    """Other node -> neighbour through which it is reached."""


@dataclass(frozen=True)
class LinkLayout:
    """A link: a veth pair between two nodes."""

    link: Link
    nodes: tuple[str, str]
    interfaces: tuple[str, str]
    ofports: tuple[int, int]
    """Number of each end among the links of its node, from 1; on Open vSwitch, its OpenFlow port at
    the bridge `und`."""


@dataclass(frozen=True)
class Layout:
    """Every name, address and port number of one scenario."""

    nodes: Mapping[str, NodeLayout]
    links: tuple[LinkLayout, ...]
    lan: Mapping[str, str]
    """Node -> its interface in the one network that connects all nodes; empty: links connect
    them."""
    client: EndpointPort
    server: EndpointPort
    functions: tuple[FunctionLayout, ...]
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

    def tunnelled_ports(self, node: str) -> list[Port]:
        """Attachments of this node's SFs that are reached by VXLAN-GPE."""
        return [
            port
            for function in self.functions
            for port in function.ports
            if port.node == node and port.address is not None
        ]

    def interfaces(self, node: str) -> tuple[str, ...]:
        """All ports of a node's SFF: attachments, and links or LAN."""
        links = [
            link.interfaces[link.nodes.index(node)] for link in self.links if node in link.nodes
        ]
        lan = [self.lan[node]] if node in self.lan else []
        return (*(port.outer for port in self.ports(node)), *links, *lan)


def mac_address(tag: str, kind: int, number: int) -> str:
    """Return a locally administered MAC address, which carries the first three characters of the
    run's tag. `kind`: 1 for endpoints, 2 for functions, 3 for nodes; `number`: unique in its
    kind."""
    octets = [0x02, kind, *tag.encode()[:3], number]
    return ":".join(f"{octet:02x}" for octet in octets)
