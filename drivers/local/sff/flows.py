"""OpenFlow rules of the classifier, the SFFs and the SFC proxies (RFC 7665, section 4).

Bridge `sff` of each node:
  table 0   where a packet comes from: endpoint (classifier), SF, SFC proxy's SF, tunnel; what the
            classifier cannot parse is dropped there, and counted
  table 10  SFF: (SPI, SI) -> next SF, tunnel to the next SF's node, or the end of the path
  table 20  packets outside the chain: by destination MAC, as a switch
  table 30  SFC proxy: decapsulated packets go to the NSH-unaware SF
Bridge `und` of each node: VXLAN-GPE between nodes and towards SFs, by destination address.

NSH is MD type 1 with zero context headers. An SFF decrements its TTL before each lookup (RFC 8300,
2.2); an SFC proxy takes the header off, so that TTL and context start again behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.drivers.local.layout import TUNNEL_PORT
from sfcperf.drivers.sff.layout import Layout, NodeLayout, Port
from sfcperf.drivers.sff.match_fields import admitted, match_fields
from sfcperf.drivers.sff.paths import Path, PathHop, paths
from sfcperf.workflow.model import Match, Scenario

_NSH = "packet_type=(1,0x894f)"
_ETHERNET = "packet_type=(0,0)"
_ANYWHERE = "load:0->NXM_OF_IN_PORT[],resubmit"
"""Action that forgets by which port a packet came, before it is looked up again: Open vSwitch drops
packets that would leave by that port. From tunnel to tunnel they must, because all tunnels of a
node share one port."""
_UNTAGGED = "vlan_tci=0"
"""Matches packets without a VLAN tag. Without it, `ip` is also IP behind a tag."""
UNPARSED_COOKIE = 0x756E
"""Cookie of the rules for what a classifier cannot parse."""
_MALFORMED = "nw_proto=0"
"""Matches IP packets that Open vSwitch takes for malformed, while receivers may not."""
_PROTOCOLS = {"any": "ip", "tcp": "tcp", "udp": "udp", "icmp": "icmp"}
_FIELDS = {
    "source": "nw_src",
    "destination": "nw_dst",
    "source-port": "tp_src",
    "destination-port": "tp_dst",
}


def sff_flows(layout: Layout, scenario: Scenario, node: str) -> list[str]:
    """Return the rules of a node's bridge `sff`."""
    flows = [
        *_bypass(layout, scenario, node),
        # No path has such packets.
        "table=10,priority=0,actions=drop",
    ]
    for path in paths(layout, scenario):
        if path is not None:
            flows += _classifier(path, scenario, node)
            flows += _forwarder(layout, path, node)
    if layout.encapsulation != "none" and layout.needs_underlay:
        # Packets that come by a tunnel with an NSH are looked up.
        flows.append(f"table=0,priority=90,in_port={TUNNEL_PORT},{_NSH},actions={_ANYWHERE}(,10)")
    return flows


def underlay_flows(layout: Layout, node: str) -> list[str]:
    """Return the rules of a node's bridge `und`: to this node itself, to other nodes by links, and
    to functions that are reached by VXLAN-GPE."""
    own = layout.nodes[node]
    flows = [f"priority=10,ip,nw_dst={own.address},actions=LOCAL"]
    for destination, neighbour in own.next_hop.items():
        address = layout.nodes[destination].address
        link = next(link for link in layout.links if {node, neighbour} == set(link.nodes))
        port = link.ofports[link.nodes.index(node)]
        flows.append(f"priority=10,ip,nw_dst={address},actions=output:{port}")
    flows += [
        f"priority=10,ip,nw_dst={port.address},actions=output:{port.ofport}"
        for port in layout.tunnelled_ports(node)
    ]
    return flows


def _classifier(path: Path, scenario: Scenario, node: str) -> Iterator[str]:
    """Yield the rules by which packets enter a path, if it begins at this node; else none."""
    if path.source.node != node:
        return
    forward = path.spi == scenario.chain.spi
    for match in admitted(scenario.chain.match):
        fields = _match(match, reverse=not forward)
        yield (
            f"table=0,priority=100,in_port={path.source.ofport},{_UNTAGGED},{fields},"
            f"actions={_push_nsh(path.spi, path.hops[0].si)},resubmit(,10)"
        )


def _match(match: Match, *, reverse: bool) -> str:
    """Return the classifier's match as fields of OpenFlow; with `reverse`, that for replies."""
    fields = [_PROTOCOLS[match.ip_proto]]
    fields += [f"{_FIELDS[name]}={value}" for name, value in match_fields(match, reverse=reverse)]
    return ",".join(fields)


def _forwarder(layout: Layout, path: Path, node: str) -> Iterator[str]:
    """Yield a node's rules of SFF and SFC proxies for one path."""
    for hop in path.hops:
        yield from _towards(layout, path, hop, node)
        if hop.exit.node == node:
            yield from _back_from(path, hop)
    last = path.hops[-1].exit.node
    if last == node:
        end = _deliver(layout, node, path.destination)
        yield f"table=10,{_key(path, path.final_si)},actions=dec_nsh_ttl,decap(),{end}"


def _towards(layout: Layout, path: Path, hop: PathHop, node: str) -> Iterator[str]:
    """Yield this node's rules for packets on their way to an SF: hand them over if the SF is here,
    else tunnel them to its node."""
    key = _key(path, hop.si)
    entry = hop.entry
    if entry.node != node:
        # Only nodes on the path need the rule.
        if node in {path.source.node, *(other.exit.node for other in path.hops)}:
            yield f"table=10,{key},actions=dec_nsh_ttl,{_tunnel(layout.nodes[entry.node])}"
    elif not hop.function.type.nsh_aware:
        # The Ethernet frame can only be readdressed after decap(), in another table.
        yield (
            f"table=10,{key},actions=dec_nsh_ttl,decap(),"
            f"set_field:{entry.ofport}->reg0,resubmit(,30)"
        )
        yield (
            f"table=30,reg0={entry.ofport},{_ETHERNET},"
            f"actions=set_field:{hop.mac}->eth_dst,output:{entry.ofport}"
        )
    elif entry.address is not None:
        yield (
            f"table=10,{key},actions=dec_nsh_ttl,set_field:{entry.address}->tun_dst,"
            f"output:{TUNNEL_PORT}"
        )
    else:
        yield (
            f"table=10,{key},actions=dec_nsh_ttl,encap(ethernet),"
            f"set_field:{layout.nodes[node].mac}->eth_src,set_field:{entry.mac}->eth_dst,"
            f"output:{entry.ofport}"
        )


def _back_from(path: Path, hop: PathHop) -> Iterator[str]:
    """Yield the rule that leads packets from an SF on this node to table 10. There is none for an
    SF that returns packets by VXLAN-GPE: they match the rule of the tunnel port."""
    if not hop.function.type.nsh_aware:
        # The SFC proxy: the port on which a packet returns identifies its path.
        yield (
            f"table=0,priority=90,in_port={hop.exit.ofport},ip,"
            f"actions={_push_nsh(path.spi, hop.si - 1)},resubmit(,10)"
        )
    elif hop.exit.address is None:
        yield (
            f"table=0,priority=90,in_port={hop.exit.ofport},dl_type=0x894f,nsh_spi={path.spi:#x},"
            f"nsh_si={hop.si - 1},actions=decap(),resubmit(,10)"
        )


def _bypass(layout: Layout, scenario: Scenario, node: str) -> Iterator[str]:
    """Yield the rules for packets of endpoints that no classifier's rule takes. IP is switched by
    MAC address between the endpoints. What the classifier cannot parse is dropped, or switched too
    if the chain has `bypass_unparsed`; it is counted by UNPARSED_COOKIE."""
    fate = "resubmit(,20)" if scenario.chain.bypass_unparsed else "drop"
    for endpoint in (layout.client, layout.server):
        yield f"table=20,dl_dst={endpoint.mac},actions={_deliver(layout, node, endpoint)}"
        if endpoint.node == node:
            port = f"in_port={endpoint.ofport}"
            unparsed = f"table=0,cookie={UNPARSED_COOKIE:#x},{port}"
            for version in ("ip", "ipv6"):
                yield f"{unparsed},priority=60,{version},{_MALFORMED},actions={fate}"
                yield f"table=0,priority=50,{port},{_UNTAGGED},{version},actions=resubmit(,20)"
            yield f"{unparsed},priority=40,actions={fate}"
    if layout.needs_underlay:
        yield f"table=0,priority=50,in_port={TUNNEL_PORT},{_ETHERNET},actions={_ANYWHERE}(,20)"


def _deliver(layout: Layout, node: str, endpoint: Port) -> str:
    """Return the actions that bring a packet without NSH from this node to an endpoint."""
    if endpoint.node == node:
        return f"output:{endpoint.ofport}"
    return _tunnel(layout.nodes[endpoint.node])


def _tunnel(node: NodeLayout) -> str:
    """Return the actions that send a packet to another node by VXLAN-GPE."""
    return f"set_field:{node.address}->tun_dst,output:{TUNNEL_PORT}"


def _push_nsh(spi: int, si: int) -> str:
    """Return the actions that put a packet into an NSH with this SPI and SI."""
    return f"encap(nsh(md_type=1)),set_field:{spi:#x}->nsh_spi,set_field:{si}->nsh_si"


def _key(path: Path, si: int) -> str:
    """Return the match of packets of a path with this SI."""
    return f"{_NSH},nsh_spi={path.spi:#x},nsh_si={si}"
