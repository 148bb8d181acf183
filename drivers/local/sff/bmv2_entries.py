"""Ports and table entries of a node on bmv2, by the SFC controller's own model.

They say the same as the OpenFlow rules of `flows` and the tables of `ebpf_tables`: nodes with
different data planes form one chain. All nodes are switches of the model, and entries are taken of
those on bmv2 alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

from sfcperf.drivers.sff.layout import Layout, LinkLayout, NodeLayout, Port
from sfcperf.drivers.sff.match_fields import admitted
from sfcperf.drivers.sff.paths import REVERSE_SPI_BIT
from sfcperf.workflow.model import Match, Scenario

# The model is of pydantic, which only the extra `p4` has.
if TYPE_CHECKING:
    from sfcperf.vnfs.sfcmon.controller import model
    from sfcperf.vnfs.sfcmon.controller.entries import Entry

_NSH, _PLAIN, _UNDERLAY = 128, 256, 384
"""First port number of each kind of attachment (vnfs/sfcmon/p4/README.md)."""
_FIRST_OFPORT = 110
"""First OpenFlow port of functions in a Layout."""
_FIRST_LINK = 450
"""Added to the number of a link at its node, from 1. Ports of functions by VXLAN-GPE are below."""
MOST_LINKS = 59
"""Most links of a node: port 509 is the last."""
_PROTOCOLS = {"any": None, "icmp": 1, "tcp": 6, "udp": 17}
_PRIORITY = 100
_SF_TYPE = "sf"
_CHAIN = "chain"


def interfaces(layout: Layout, node: NodeLayout) -> dict[int, str]:
    """Port number on bmv2 -> interface in the node's namespace, of all attachments and links."""
    found = {port_number(layout, port): port.outer for port in layout.ports(node.name)}
    for link in layout.links:
        if node.name in link.nodes:
            here = link.nodes.index(node.name)
            found[_link_port(link, here)] = link.interfaces[here]
    return found


def sff_entries(
    layout: Layout, scenario: Scenario, node: NodeLayout, on_bmv2: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the entries of a node's tables, each with the fields of controller.entries.Entry.
    `on_bmv2`: the nodes with this data plane."""
    from sfcperf.vnfs.sfcmon.controller.entries import entries

    state = _state(layout, scenario)
    own = entries(state)[_names(layout)[node.name]]
    if set(layout.nodes) - set(on_bmv2):
        own = [_from_any_node(entry) for entry in own]
    return [asdict(entry) for entry in own]


def port_number(layout: Layout, port: Port) -> int:
    """Return the number on bmv2 of an attachment's port: of an endpoint its `ofport`, of a function
    one from the range of its kind."""
    function = next((f for f in layout.functions if port in f.ports), None)
    if function is None:
        return port.ofport
    if port in layout.tunnelled_ports(port.node):
        kind = _UNDERLAY
    else:
        kind = _NSH if function.type.nsh_aware else _PLAIN
    return kind + port.ofport - _FIRST_OFPORT


def _link_port(link: LinkLayout, end: int) -> int:
    """Return the port number of a link at one of its nodes, the first (0) or the second (1)."""
    return _FIRST_LINK + link.ofports[end]


def _from_any_node(entry: Entry) -> Entry:
    """Return the entry for packets that come by any port (parameter `from` 0), if it was for those
    of one link: other data planes may send them by another one of several shortest ways."""
    parameters = tuple(
        (name, 0 if name == "from" and value >= _FIRST_LINK else value)
        for name, value in entry.parameters
    )
    return replace(entry, parameters=parameters)


def _names(layout: Layout) -> dict[str, str]:
    """Node -> name in the model, which has rules for names."""
    return {name: f"n{index}" for index, name in enumerate(layout.nodes)}


def _state(layout: Layout, scenario: Scenario) -> model.State:
    """Return the scenario as a state of the SFC controller's model, from which its code makes the
    entries."""
    from sfcperf.vnfs.sfcmon.controller import model

    names = _names(layout)
    chained = bool(layout.functions)
    return model.State(
        switches={names[n.name]: _switch(layout, n, names) for n in layout.nodes.values()},
        endpoints={
            end.instance: model.Endpoint(switch=names[end.node], port=end.ofport, mac=end.mac)
            for end in (layout.client, layout.server)
        },
        functions=dict(_functions(layout, names)),
        links={
            f"l{number}": model.Link(
                ends=(
                    model.LinkEnd(switch=names[link.nodes[0]], port=_link_port(link, 0)),
                    model.LinkEnd(switch=names[link.nodes[1]], port=_link_port(link, 1)),
                )
            )
            for number, link in enumerate(layout.links)
        },
        chains={_CHAIN: model.Chain(types=(_SF_TYPE,) * len(layout.functions))} if chained else {},
        paths={scenario.chain.spi: _path(layout, scenario)} if chained else {},
        rules=dict(_rules(layout, scenario, names)) if chained else {},
    )


def _switch(layout: Layout, node: NodeLayout, names: dict[str, str]) -> model.Switch:
    """Return a node in the model. `names`: node -> name in the model."""
    from sfcperf.vnfs.sfcmon.controller import model

    return model.Switch(
        p4runtime=f"unix:/{names[node.name]}",  # not used: a node's own process writes the tables
        mac=node.mac,
        address=IPv4Address(node.address),
        ports=dict.fromkeys(interfaces(layout, node), layout.wire_mtu),
    )


def _functions(layout: Layout, names: dict[str, str]) -> Iterator[tuple[str, model.Function]]:
    """Yield the functions of the chain in the model, by name. `names`: node -> name in the
    model."""
    from sfcperf.vnfs.sfcmon.controller import model

    for function in layout.functions:
        ends = [_attachment(layout, port) for port in function.ports]
        aware = function.type.nsh_aware
        tunnelled = function.ingress.address is not None
        yield (
            f"f{function.spec.position}",
            model.Function(
                type=_SF_TYPE,
                switch=names[function.spec.node],
                transport="gpe" if tunnelled else "nsh" if aware else "plain",
                ingress=ends[0],
                egress=ends[1] if len(ends) > 1 else None,
            ),
        )


def _attachment(layout: Layout, port: Port) -> model.Attachment:
    """Return an attachment of a function in the model."""
    from sfcperf.vnfs.sfcmon.controller import model

    address = None if port.address is None else IPv4Address(port.address)
    return model.Attachment(port=port_number(layout, port), mac=port.mac, address=address)


def _path(layout: Layout, scenario: Scenario) -> model.Path:
    """The chain's service function path, as the controller's model has it: the functions in order,
    from the client to the server. If replies bypass the chain, there is no reverse path."""
    from sfcperf.vnfs.sfcmon.controller import model

    chain = scenario.chain
    return model.Path(
        chain=_CHAIN,
        hops=tuple(f"f{function.spec.position}" for function in layout.functions),
        source=layout.client.instance,
        destination=layout.server.instance,
        initial_si=chain.initial_si,
        reverse_spi=None if chain.reverse == "bypass" else chain.spi | REVERSE_SPI_BIT,
    )


def _rules(
    layout: Layout, scenario: Scenario, names: dict[str, str]
) -> Iterator[tuple[str, model.Rule]]:
    """Yield the classifier's rules by name, for both directions unless replies bypass the chain.
    `names`: node -> name in the model."""
    from sfcperf.vnfs.sfcmon.controller import model

    chain = scenario.chain
    directions = [(layout.client, chain.spi, False)]
    if chain.reverse != "bypass":
        directions.append((layout.server, chain.spi | REVERSE_SPI_BIT, True))
    for source, spi, reverse in directions:
        for number, match in enumerate(admitted(chain.match)):
            yield (
                f"{source.instance}{number}",
                model.Rule(
                    switch=names[source.node],
                    port=source.ofport,
                    priority=_PRIORITY,
                    match=_match(match, reverse=reverse),
                    path=spi,
                ),
            )


def _match(match: Match, *, reverse: bool) -> model.Match:
    """Return the classifier's match in the model. With `reverse`, it is that for replies: source
    and destination are exchanged."""
    from sfcperf.vnfs.sfcmon.controller import model

    source, destination = ("destination", "source") if reverse else ("source", "destination")
    fields: dict[str, Any] = {"version": 4, "protocol": _PROTOCOLS[match.ip_proto]}
    for name, prefix in ((source, match.source), (destination, match.destination)):
        fields[name] = None if prefix is None else IPv4Network(prefix, strict=False)
    for name, port in ((source, match.source_port), (destination, match.destination_port)):
        if port is not None:
            fields[f"{name}_port"] = model.PortRange(first=port, last=port)
    return model.Match(**fields)
