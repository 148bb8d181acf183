"""Drawing of a chain, nodes with SFF, endpoints, SFs and links: places, for the template's SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import Scenario

# Lengths in CSS pixels.
_BOX_WIDTH = 112
_BOX_HEIGHT = 50
_GAP = 14
_PADDING = 14
_TITLE_HEIGHT = 20
_BOX_TOP = _PADDING + _TITLE_HEIGHT
_SFF_HEIGHT = 26
_WIRE_HEIGHT = 22
_NODE_GAP = 54
_MOST_FUNCTIONS = 8
_MOST_DRAWINGS = 6


@dataclass(frozen=True)
class Box:
    """An endpoint, an SF, or a stand-in for many SFs."""

    kind: Literal["endpoint", "function", "more"]
    title: str
    detail: str
    x: float
    """Upper left corner, like `y`."""
    y: float


@dataclass(frozen=True)
class NodeBox:
    """A node, with its SFF and the boxes of what is on it."""

    name: str
    sff: str
    x: float
    width: float
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Wire:
    """A link between the SFFs of two nodes."""

    between: tuple[str, str]
    """Names of the nodes, from left to right."""
    x1: float
    x2: float
    label: str
    level: int
    """Number of nodes between the two. 0: it is straight; else it is bent below them, the farther
    the more there are."""


@dataclass(frozen=True)
class Drawing:
    """A chain, placed; all lengths in CSS pixels."""

    title: str
    note: str
    nodes: tuple[NodeBox, ...]
    wires: tuple[Wire, ...]
    width: float
    height: float
    node_height: float = _TITLE_HEIGHT + _BOX_HEIGHT + _WIRE_HEIGHT + _SFF_HEIGHT + 2 * _PADDING
    box_width: float = _BOX_WIDTH
    box_height: float = _BOX_HEIGHT
    sff_y: float = _PADDING + _TITLE_HEIGHT + _BOX_HEIGHT + _WIRE_HEIGHT
    sff_height: float = _SFF_HEIGHT


def drawings(scenarios: Iterable[Scenario], trials: Iterable[TrialRecord]) -> list[Drawing]:
    """Draw for each topology the scenario with the longest chain; at most six drawings. The trials
    tell which encapsulation the driver chose."""
    chosen = {record.scenario_id: record.deployment for record in trials}
    longest: dict[str, Scenario] = {}
    for scenario in scenarios:
        known = longest.get(scenario.topology.name)
        if known is None or len(scenario.chain.functions) > len(known.chain.functions):
            longest[scenario.topology.name] = scenario
    return [
        _draw_deployed(scenario, chosen.get(scenario.id, {}))
        for scenario in list(longest.values())[:_MOST_DRAWINGS]
    ]


def _draw_deployed(scenario: Scenario, deployment: Mapping[str, Any]) -> Drawing:
    """Draw a chain with the encapsulation and the SPI of its deployment; those of the workflow if
    it was never deployed."""
    encapsulation = deployment.get("encapsulation") or scenario.chain.encapsulation
    return draw(scenario, encapsulation, deployment.get("spi") or scenario.chain.spi)


def draw(scenario: Scenario, encapsulation: str, spi: int) -> Drawing:
    """Place one chain: nodes from left to right as the forward path first meets them. SPI and SIs
    are shown of chains with NSH."""
    has_nsh = encapsulation == "auto" or encapsulation.startswith("nsh")
    stops = _stops(scenario, has_nsh)
    names = list(dict.fromkeys(node for node, *_ in stops))
    nodes: list[NodeBox] = []
    x = 1.0
    for name in names:
        here = [(kind, title, detail) for node, kind, title, detail in stops if node == name]
        width = len(here) * (_BOX_WIDTH + _GAP) - _GAP + 2 * _PADDING
        boxes = tuple(
            Box(kind, title, detail, x + _PADDING + i * (_BOX_WIDTH + _GAP), _BOX_TOP)
            for i, (kind, title, detail) in enumerate(here)
        )
        sff = "classifier + SFF" if name == scenario.client.node else "SFF"
        nodes.append(NodeBox(name, sff, x, width, boxes))
        x += width + _NODE_GAP
    wires = tuple(_wires(scenario, nodes))
    # Room below the nodes for bent wires, which the template draws 14 pixels lower per level.
    bend = 16 * max((wire.level for wire in wires), default=0)
    height = Drawing.node_height + bend + 2
    return Drawing(
        f"Topology {scenario.topology.name}",
        _note(scenario, encapsulation, spi if has_nsh else None),
        tuple(nodes),
        wires,
        x - _NODE_GAP + 1,
        height,
    )


def _stops(
    scenario: Scenario, has_nsh: bool
) -> list[tuple[str, Literal["endpoint", "function", "more"], str, str]]:
    """Return (node, kind, title, detail) of all that the forward path visits, in order. Of a long
    chain, one stop stands for the SFs between the first five and the last two."""
    functions = scenario.chain.functions
    stops: list[tuple[str, Literal["endpoint", "function", "more"], str, str]] = [
        (scenario.client.node, "endpoint", "client", "source")
    ]
    hidden = functions[5:-2] if len(functions) > _MOST_FUNCTIONS else ()
    for function in functions:
        if hidden and function == hidden[0]:
            last = hidden[-1]
            title = f"{len(hidden)} more"
            stops.append((function.node, "more", title, f"{function.name} to {last.name}"))
        if function in hidden:
            continue
        si = scenario.chain.initial_si - function.position + 1  # with which a packet reaches it
        detail = f"SI {si} → {si - 1}" if has_nsh else function.type
        stops.append((function.node, "function", function.name, detail))
    stops.append((scenario.server.node, "endpoint", "server", "destination"))
    return stops


def _wires(scenario: Scenario, nodes: Sequence[NodeBox]) -> Iterable[Wire]:
    """Place the links of the topology whose nodes are both drawn."""
    places = {node.name: index for index, node in enumerate(nodes)}
    for link in scenario.topology.links:
        if not all(name in places for name in link.between):
            continue
        first, second = sorted(places[name] for name in link.between)
        left, right = nodes[first], nodes[second]
        label = f"{link.rate_bps / 1e6:g} Mbit/s" if link.rate_bps else ""
        level = second - first - 1
        ends = (left.x + left.width, right.x)
        if level:
            ends = (left.x + left.width / 2, right.x + right.width / 2)
        yield Wire((left.name, right.name), *ends, label, level)


def _note(scenario: Scenario, encapsulation: str, spi: int | None) -> str:
    """Describe the chain in a sentence."""
    chain = scenario.chain
    if not chain.functions:
        return "No SF: the baseline between the endpoints."
    reverse = "through the same SFs in reverse" if chain.reverse == "symmetric" else "directly"
    length = "1 SF" if len(chain.functions) == 1 else f"{len(chain.functions)} SFs"
    path = "" if spi is None else f" SPI {spi}, initial SI {chain.initial_si},"
    return f"{length},{path} encapsulation {encapsulation}; replies return {reverse}."
