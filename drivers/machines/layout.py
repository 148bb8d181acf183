"""The layout of a scenario on several machines: as on one, but network cards join the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfcperf.drivers.local import layout as local
from sfcperf.drivers.local.layout import LocalLayout
from sfcperf.drivers.local.nics import Nic
from sfcperf.workflow.model import Scenario

CARD = "nic0"
"""Name of the network card in the namespace of its node."""


def lay_out(scenario: Scenario, tag: str, wire_mtu: int, cards: Mapping[str, Nic]) -> LocalLayout:
    """Return the layout of a scenario in the run with this tag. `cards`: node -> network card; all
    are in one Ethernet network. With one node, they are not used."""
    layout = local.lay_out(scenario, tag, wire_mtu)
    if len(layout.nodes) == 1:
        return layout
    names = list(layout.nodes)
    nodes = {
        name: replace(
            node,
            mac=cards[name].mac,
            card=cards[name],
            next_hop={other: other for other in names if other != name},
        )
        for name, node in layout.nodes.items()
    }
    return replace(layout, nodes=nodes, links=(), lan=dict.fromkeys(names, CARD))
