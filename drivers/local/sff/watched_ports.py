"""Ports of a node's Open vSwitch as sfc-sfcmon watches them: which packets it looks up, and how.

Open vSwitch does not say with which SPI and SI it looks a packet up. At the ports, packets show it
by their NSH; those from endpoints and from SFs behind the SFC proxy get one only inside. For them,
these words say what the OpenFlow rules of `flows` do (docs/decisions/0017).
"""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.drivers.sff.layout import Layout, NodeLayout
from sfcperf.drivers.sff.match_fields import match_fields
from sfcperf.drivers.sff.paths import Path, paths
from sfcperf.workflow.model import Match, Scenario


def watched_ports(layout: Layout, scenario: Scenario, node: NodeLayout) -> list[str]:
    """Return a word for each port of the node where packets come in that are looked up, as
    `sfc-sfcmon --help` describes them."""
    words = [
        *(f"{port.outer}:{_underlay(node)}" for port in layout.tunnelled_ports(node.name)),
        *(
            f"{link.interfaces[link.nodes.index(node.name)]}:{_underlay(node)}"
            for link in layout.links
            if node.name in link.nodes
        ),
    ]
    for path in paths(layout, scenario):
        if path is not None:
            words += _of_path(path, scenario, node)
    # An SF with one interface returns packets of both paths there.
    return list(dict.fromkeys(words))


def _of_path(path: Path, scenario: Scenario, node: NodeLayout) -> Iterator[str]:
    """Yield words for the ports of this node where packets of one path come in, other than by
    tunnels: from the endpoint, and from SFs that return them."""
    if path.source.node == node.name:
        forward = path.spi == scenario.chain.spi
        rule = f"rule,path={path.spi}/{path.hops[0].si}"
        yield ",".join(
            (f"{path.source.outer}:{rule}", *_match(scenario.chain.match, reverse=not forward))
        )
    for hop in path.hops:
        if hop.exit.node != node.name or hop.exit.address is not None:
            continue
        if hop.function.type.nsh_aware:
            yield f"{hop.exit.outer}:nsh"
        else:
            yield f"{hop.exit.outer}:rule,path={path.spi}/{hop.si - 1}"


def _underlay(node: NodeLayout) -> str:
    """Return the words for a port where packets arrive by VXLAN-GPE for this node."""
    return f"underlay,address={node.address}"


def _match(match: Match, *, reverse: bool) -> Iterator[str]:
    """Yield the words for the classifier's match; with `reverse`, for replies."""
    if match.ip_proto != "any":
        yield f"protocol={match.ip_proto}"
    for name, value in match_fields(match, reverse=reverse):
        yield f"{name}={value}"
