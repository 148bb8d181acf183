"""Topologies: the presets of the paper, and building the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any

from sfcperf.workflow.document import choices
from sfcperf.workflow.document.likeness import check_alike
from sfcperf.workflow.model import Link, Node, Topology

Report = Callable[..., None]
"""`report(path, message, allowed=, hint=)` reports an error at a path of the document."""


def _preset(name: str, client: str, server: str, chain: str) -> Topology:
    nodes = sorted({client, server, chain})
    return Topology(
        name,
        tuple(Node(node) for node in nodes),
        _full_mesh(nodes),
        MappingProxyType({"client": client, "server": server, "chain": chain}),
    )


def _full_mesh(nodes: list[str]) -> tuple[Link, ...]:
    return tuple(Link(pair) for pair in combinations(nodes, 2))


PRESETS: Mapping[str, Topology] = {
    "T1": _preset("T1", client="node1", server="node1", chain="node1"),
    "T2": _preset("T2", client="node1", server="node1", chain="node2"),
    "T3": _preset("T3", client="node1", server="node3", chain="node2"),
}
"""Topologies 1, 2 and 3 of Sanz et al., SFCPerf, Fig. 7."""

DESCRIPTIONS: Mapping[str, str] = {
    "T1": "client, server and chain on one node",
    "T2": "client and server on one node, the chain on another; `local` makes both on one machine",
    "T3": "client, chain and server on three nodes; `local` makes all three on one machine",
}
"""What each preset is, and what the default driver makes of its nodes."""


def build_topology(value: str | Mapping[str, Any], report: Report) -> Topology:
    """Build a topology from its section of an expanded workflow that fits the schema.

    Contradictions are reported; the result must then not be used.
    """
    if isinstance(value, str):
        return PRESETS[value]
    nodes = [
        Node(name, content.get("vcpus"), content.get("memory_mib"))
        for name, content in value["nodes"].items()
    ]
    names = [node.name for node in nodes]
    check_alike(("topology", "nodes"), names, report)
    links = _full_mesh(names) if "links" not in value else _links(value["links"], names, report)
    placement = _placement(value.get("placement", {}), names, report)
    return Topology(value.get("name", "custom"), tuple(nodes), links, placement)


def _links(links: list[Mapping[str, Any]], names: list[str], report: Report) -> tuple[Link, ...]:
    """Build the links; report nodes that do not exist, loops and duplicates."""
    built: dict[frozenset[str], Link] = {}
    for index, link in enumerate(links):
        path = ("topology", "links", index, "between")
        first, second = link["between"]
        for side, node in enumerate((first, second)):
            known_node(node, names, (*path, side), report)
        ends = frozenset((first, second))
        if len(ends) == 1:
            report(path, "a link must join two different nodes")
        elif ends in built:
            report(path, f"{first} and {second} are already linked")
        built[ends] = Link((first, second), link.get("rate_bps"))
    return tuple(built.values())


def _placement(placement: Mapping[str, str], names: list[str], report: Report) -> Mapping[str, str]:
    """Default nodes of endpoints and chain; one without a default is absent. With one node, it is
    the default for all. Nodes that do not exist are reported."""
    for role, node in placement.items():
        known_node(node, names, ("topology", "placement", role), report)
    if len(names) == 1:
        return dict.fromkeys(("client", "server", "chain"), names[0]) | dict(placement)
    return dict(placement)


def known_node(node: str, names: list[str], path: tuple[str | int, ...], report: Report) -> bool:
    """Whether the topology has a node; reports it if not."""
    if node in names:
        return True
    report(path, f"there is no node {node!r}", **choices(node, names))
    return False
