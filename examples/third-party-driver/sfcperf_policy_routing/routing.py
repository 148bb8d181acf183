"""Routing: the chain as rules and routes of the node's kernel.

A packet's way on is told by the interface on which it came: from the client to the first function,
from the egress of one to the ingress of the next, from the last to the server; replies the other
way round. The classifier is a rule that asks for more than the interface.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.workflow.model import Match, Scenario
from sfcperf_policy_routing.layout import NODE_MAC, Cable, Layout

GATEWAY = "169.254.0.1"
"""Stands for the other end of any cable; never on the wire."""
CHAIN_PRIORITY, BYPASS_PRIORITY = 1000, 2000
"""Priorities of rules: the kernel tries those with the lowest number first."""


def ways(layout: Layout, scenario: Scenario) -> tuple[list[Cable], list[Cable]]:
    """Return the cables that packets take, forward and in reverse, from the source's to the
    destination's: only these two where packets bypass the chain."""
    forward = layout.cables
    if not layout.functions or scenario.chain.reverse == "bypass":
        return forward, [layout.server, layout.client]
    return forward, forward[::-1]


def node_commands(layout: Layout, scenario: Scenario) -> str:
    """Return lines for `ip -batch` in the node's namespace, when all cables are there."""
    lines: list[str] = []
    for cable in layout.cables:
        lines += [
            f"link set dev {cable.outer} up",
            f"neighbour replace {GATEWAY} lladdr {cable.mac} dev {cable.outer} nud permanent",
            f"route add table {cable.table} default via {GATEWAY} dev {cable.outer} onlink",
        ]
    forward, reverse = ways(layout, scenario)
    lines += _rules(forward, _match(scenario.chain.match, reverse=False))
    lines += _rules(reverse, _match(scenario.chain.match, reverse=True))
    # Packets of an endpoint that the classifier does not match go straight to the other one.
    for here, there in ((layout.client, layout.server), (layout.server, layout.client)):
        lines.append(f"rule add iif {here.outer} lookup {there.table} priority {BYPASS_PRIORITY}")
    return "\n".join(lines) + "\n"


def endpoint_commands(cable: Cable, address: str, peer: str) -> str:
    """Return lines for `ip -batch` in an endpoint's namespace: no ARP, no network, one peer.
    `cable` and `address` are the endpoint's, `peer` is the address of the other one."""
    return (
        f"address add {address}/32 dev {cable.inner}\n"
        f"link set dev {cable.inner} up\n"
        f"route add {peer}/32 dev {cable.inner} scope link\n"
        f"neighbour replace {peer} lladdr {NODE_MAC} dev {cable.inner} nud permanent\n"
    )


def _rules(way: list[Cable], match: str) -> Iterator[str]:
    """Yield a rule for each pair of cables on a way: what comes out of the first goes into the
    second. Only the first rule, by which packets enter the way, has the classifier's match."""
    pairs = zip(way[::2], way[1::2], strict=True)
    for number, (here, there) in enumerate(pairs):
        asked = match if number == 0 else ""
        yield (f"rule add {asked}iif {here.outer} lookup {there.table} priority {CHAIN_PRIORITY}")


def _match(match: Match, *, reverse: bool) -> str:
    """Return the words of a rule for the classifier's match, each with a space behind it; empty if
    it matches everything. With `reverse`, source and destination are exchanged, for replies."""
    ends = {
        "from": match.destination if reverse else match.source,
        "to": match.source if reverse else match.destination,
        "sport": match.destination_port if reverse else match.source_port,
        "dport": match.source_port if reverse else match.destination_port,
    }
    protocol = "" if match.ip_proto == "any" else f"ipproto {match.ip_proto} "
    return protocol + "".join(f"{key} {value} " for key, value in ends.items() if value is not None)
