"""Tables of sfc-sff: ports, paths and classifier rules of one node (dataplane/sff/README.md).

They say the same as the OpenFlow rules of `flows`, so that nodes with different data planes form
one chain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sfcperf.drivers.sff.layout import Layout, LinkLayout, NodeLayout, Port
from sfcperf.drivers.sff.match_fields import admitted, match_fields
from sfcperf.drivers.sff.paths import Path, PathHop, paths
from sfcperf.workflow.model import Match, Scenario

TAP = ("tap-near", "tap-far")
"""The two ends of a veth pair in each node, through which packets go so that captures see them."""
_FIRST_LINK_PORT = 200
"""The LAN and links have the port numbers from here on; those of instances are below."""


def sff_tables(
    layout: Layout,
    scenario: Scenario,
    name: str,
    *,
    take_xdp: Collection[str],
    shown: bool,
    trace: int,
) -> str:
    """Return the text of sfc-sff's tables for the node `name`. `take_xdp` are the nodes whose ends
    of links take XDP frames; `shown`: captures at the ports see every packet; one packet in `trace`
    is traced (0: none)."""
    node = layout.nodes[name]
    address = f" address {node.address}" if layout.needs_underlay else ""
    lines = [
        f"node {node.mac}{address}",
        f"tap {' '.join(TAP)} on {'yes' if shown else 'no'}",
        f"trace {trace}",
        *_ports(layout, node, scenario),
        *_links(layout, node, take_xdp),
        *_stations(layout, node),
    ]
    for path in paths(layout, scenario):
        if path is not None:
            lines += _path(layout, path, node)
            if path.source.node == name:
                lines += _rules(path, scenario)
    return "\n".join(lines) + "\n"


def _ports(layout: Layout, node: NodeLayout, scenario: Scenario) -> Iterator[str]:
    """Yield a line `port` for each of the node's attachments."""
    tunnelled = layout.tunnelled_ports(node.name)
    by_port = {port: function for function in layout.functions for port in function.ports}
    for port in layout.ports(node.name):
        function = by_port.get(port)
        if function is None:
            kind = "endpoint"
        elif port in tunnelled:
            kind = "underlay"
        else:
            kind = "nsh" if function.type.nsh_aware else "plain"
        # An end of a veth takes XDP frames if it polls (NAPI). Endpoints do, because they have GRO
        # on; types of functions say whether they do.
        polls = function is None or function.needs_xdp
        xdp = " xdp yes" if polls else ""
        bypass = function is None and scenario.chain.bypass_unparsed
        more = xdp + (" unparsed bypass" if bypass else "")
        yield f"port {port.ofport} interface {port.outer} kind {kind} mtu {layout.wire_mtu}{more}"


def _links(layout: Layout, node: NodeLayout, take_xdp: Collection[str]) -> Iterator[str]:
    """Yield the lines of the node's links, and of the routes to all other nodes; in a LAN, the line
    of its port there."""
    if (interface := layout.lan.get(node.name)) is not None:
        # Whoever is in a LAN reaches all others directly: nothing is in transit. Network cards
        # take frames from the kernel, and may have no native XDP.
        mtu = layout.wire_mtu
        yield f"port {_FIRST_LINK_PORT} interface {interface} kind underlay mtu {mtu} generic yes"
        return
    for link in layout.links:
        if node.name in link.nodes:
            here = link.nodes.index(node.name)
            name = link.interfaces[here]
            # A shaper is a queueing discipline, which XDP frames would bypass.
            shaped = link.link.rate_bps is not None
            xdp = " xdp yes" if link.nodes[1 - here] in take_xdp and not shaped else ""
            number = _link_port(link, node.name)
            yield f"port {number} interface {name} kind underlay mtu {layout.wire_mtu}{xdp}"
    for destination in node.next_hop:
        last = layout.nodes[destination]
        yield f"route {last.address} port {_towards(layout, node, last)}"


def _stations(layout: Layout, node: NodeLayout) -> Iterator[str]:
    """Yield the lines that say where packets go that bypass the chain."""
    for endpoint in (layout.client, layout.server):
        if endpoint.node == node.name:
            yield f"station {endpoint.mac} port {endpoint.ofport}"
        elif endpoint.node in node.next_hop:
            yield f"station {endpoint.mac} {_to_node(layout, node, endpoint.node)}"


def _path(layout: Layout, path: Path, node: NodeLayout) -> Iterator[str]:
    """Yield the lines of one path in this node: packets are looked up where they come from, and
    where their next SF is."""
    before = path.source
    for hop in path.hops:
        if node.name in (before.node, hop.entry.node):
            yield f"path {path.spi} {hop.si}{_from(before, node)} {_to_hop(layout, hop, node)}"
        before = hop.exit
    if before.node == node.name:
        key = f"path {path.spi} {path.final_si}{_from(before, node)}"
        end = path.destination
        if end.node == node.name:
            yield f"{key} to end port {end.ofport}"
        else:
            yield f"{key} to end-gpe {_to_node(layout, node, end.node)}"


def _from(before: Port, node: NodeLayout) -> str:
    """Return words for where packets must come from: the port `before` if it is on this node. If
    they come from another node, there are no words, which means any port."""
    return f" from {before.ofport}" if before.node == node.name else ""


def _to_hop(layout: Layout, hop: PathHop, node: NodeLayout) -> str:
    """Return words for where this node sends packets on their way to an SF: to the SF itself, or to
    the SF's node."""
    entry = hop.entry
    if entry.node != node.name:
        return f"to gpe {_to_node(layout, node, entry.node)}"
    where = f"port {entry.ofport} mac {hop.mac}"
    if not hop.function.type.nsh_aware:
        return f"to plain {where} back {hop.exit.ofport}"
    if entry.address is not None:
        return f"to gpe {where} address {entry.address}"
    return f"to nsh {where}"


def _to_node(layout: Layout, node: NodeLayout, destination: str) -> str:
    """Return words for the way from `node` to another node: the port of the first link, and the
    addresses of the destination."""
    last = layout.nodes[destination]
    return f"port {_towards(layout, node, last)} mac {last.mac} address {last.address}"


def _towards(layout: Layout, node: NodeLayout, last: NodeLayout) -> int:
    """Return the number of the port by which `node` reaches the node `last`: that of the first
    link on the way, or of the LAN."""
    if layout.lan:
        return _FIRST_LINK_PORT
    ends = {node.name, node.next_hop[last.name]}
    return _link_port(next(link for link in layout.links if ends == set(link.nodes)), node.name)


def _link_port(link: LinkLayout, node: str) -> int:
    return _FIRST_LINK_PORT + link.ofports[link.nodes.index(node)]


def _rules(path: Path, scenario: Scenario) -> Iterator[str]:
    """Yield the classifier's rules by which packets enter a path."""
    forward = path.spi == scenario.chain.spi
    for match in admitted(scenario.chain.match):
        words = _match(match, reverse=not forward)
        yield f"rule {path.source.ofport} path {path.spi} {path.hops[0].si} {words}"


def _match(match: Match, *, reverse: bool) -> str:
    """Return the words of a rule for the classifier's match; with `reverse`, for replies."""
    words = ["version 4"]
    if match.ip_proto != "any":
        words.append(f"protocol {match.ip_proto}")
    words += [f"{name} {value}" for name, value in match_fields(match, reverse=reverse)]
    return " ".join(words)
