"""Traversal proof: marked packets are seen at each SF, in order, with the right SPI and SI.

What counts is a capture at the SFFs' ports, on both ways between SFF and SF. An SF behind an SFC
proxy gets no NSH; for it the SPI and SI are those of the SFF's own flow counters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from sfcperf.drivers.local.capture import Capture, Frame, write_pcapng
from sfcperf.drivers.local.frames import nsh_of
from sfcperf.drivers.local.layout import Layout, Port
from sfcperf.drivers.local.marked import MarkedPacket, Side, marked_packet, send, sides
from sfcperf.drivers.local.paths import Path, PathHop, paths
from sfcperf.management.deployment import HopObservation, TraversalProof
from sfcperf.workflow.model import Scenario

PACKETS = 3
TIMEOUT_S = 2.0

FlowCounter = Callable[[str, int, int], int]
"""(node, SPI, SI) -> packets that the node's SFF has matched."""


@dataclass
class _Direction:
    """Packets of one direction and the path that they should take (None: around the chain)."""

    path: Path | None
    source: Port
    destination: Port
    packets: list[MarkedPacket]


@dataclass(frozen=True)
class _Sighting:
    """A marked packet at a port."""

    time_ns: int
    spi: int | None
    si: int | None
    """None for a packet without NSH."""


def prove(
    layout: Layout, scenario: Scenario, counted: FlowCounter, evidence: File
) -> TraversalProof:
    """Send marked packets both ways and judge where they were seen; `evidence` gets the capture."""
    directions = _directions(layout, scenario)
    before = _counts(directions, counted)
    ports = [p for node in layout.nodes for p in layout.ports(node)]
    capture = Capture([(p.outer, layout.nodes[p.node].namespace, p.outer) for p in ports])
    try:
        for direction in directions:
            source = direction.source
            send(layout.namespaces[source.instance], source.inner, direction.packets)
        capture.collect(lambda: _all_arrived(capture.frames, directions), TIMEOUT_S)
    finally:
        capture.close()
    write_pcapng(evidence, capture.names, capture.frames)
    after = _counts(directions, counted)
    rose = {key: after[key] - before[key] for key in after}
    judged = [_judge(direction, capture.frames, rose) for direction in directions]
    problems = tuple(problem for _, found in judged for problem in found)
    return TraversalProof(
        proven=not problems,
        method="capture at the SFFs' ports",
        sent=PACKETS,
        forward=judged[0][0],
        reverse=judged[1][0],
        problems=problems,
        evidence=(evidence.name,),
    )


def _directions(layout: Layout, scenario: Scenario) -> list[_Direction]:
    match = scenario.chain.match
    client, server = sides(match, _side(layout.client), _side(layout.server))
    forward, reverse = paths(layout, scenario)
    return [
        _Direction(
            path,
            source,
            destination,
            [marked_packet(match, here, there) for _ in range(PACKETS)],
        )
        for path, source, destination, here, there in (
            (forward, layout.client, layout.server, client, server),
            (reverse, layout.server, layout.client, server, client),
        )
    ]


def _side(port: Port) -> Side:
    if port.address is None:
        raise AssertionError("an endpoint has an address")
    return Side(port.mac, port.address, 0)


def _all_arrived(frames: Sequence[Frame], directions: Sequence[_Direction]) -> bool:
    return all(
        _sightings(frames, direction.destination, packet, outgoing=True)
        for direction in directions
        for packet in direction.packets
    )


def _sightings(
    frames: Sequence[Frame], port: Port, packet: MarkedPacket, *, outgoing: bool
) -> list[_Sighting]:
    """When a packet was seen at a port, going out of the SFF or coming in."""
    found = []
    for frame in frames:
        if (frame.interface, frame.outgoing) != (port.outer, outgoing):
            continue
        if packet.mark in frame.data and packet.packet[1:] in frame.data:
            header = nsh_of(frame.data)
            spi, si = (None, None) if header is None else (header.spi, header.si)
            found.append(_Sighting(frame.time_ns, spi, si))
    return found


def _judge(
    direction: _Direction, frames: Sequence[Frame], rose: dict[tuple[str, int, int], int]
) -> tuple[tuple[HopObservation, ...], list[str]]:
    problems: list[str] = []
    observed: list[HopObservation] = []
    last = dict.fromkeys((packet.mark for packet in direction.packets), 0)
    for hop in direction.path.hops if direction.path else ():
        seen: list[tuple[int, int, int]] = []
        for packet in direction.packets:
            into = _sightings(frames, hop.entry, packet, outgoing=True)
            back = _sightings(frames, hop.exit, packet, outgoing=False)
            if not into or not back:
                continue
            if not last[packet.mark] <= into[0].time_ns <= back[0].time_ns:
                problems.append(f"{hop.function.spec.name}: packets crossed it out of order")
            last[packet.mark] = back[0].time_ns
            seen.append(_indices(direction.path, hop, into[0], back[0], rose))
        observed.append(_observation(hop, seen))
        problems += _contradictions(direction, hop, seen)
    for packet in direction.packets:
        arrival = _sightings(frames, direction.destination, packet, outgoing=True)
        if not arrival or arrival[0].time_ns < last[packet.mark]:
            source, destination = direction.source.instance, direction.destination.instance
            problems.append(f"a packet from {source} did not reach {destination} after the chain")
    return tuple(observed), list(dict.fromkeys(problems))


def _indices(
    path: Path | None,
    hop: PathHop,
    into: _Sighting,
    back: _Sighting,
    rose: dict[tuple[str, int, int], int],
) -> tuple[int, int, int]:
    """SPI, SI before and SI after, as observed; -1 for what was not."""
    if hop.function.type.nsh_aware:
        known = (into.spi, into.si, back.si)
        spi, si, si_after = (-1 if value is None else value for value in known)
        return spi, si, si_after
    if path is None:
        raise AssertionError("a hop is on a path")
    reached = rose[(hop.entry.node, path.spi, hop.si)] >= PACKETS
    left = rose[(hop.exit.node, path.spi, hop.si - 1)] >= PACKETS
    return path.spi, hop.si if reached else -1, hop.si - 1 if left else -1


def _observation(hop: PathHop, seen: list[tuple[int, int, int]]) -> HopObservation:
    spi, si, si_after = seen[0] if seen else (-1, -1, -1)
    return HopObservation(hop.function.spec.name, spi, si, si_after, len(seen))


def _contradictions(
    direction: _Direction, hop: PathHop, seen: list[tuple[int, int, int]]
) -> list[str]:
    name, path = hop.function.spec.name, direction.path
    if path is None:
        raise AssertionError("a hop is on a path")
    way = f"from {direction.source.instance} to {direction.destination.instance}"
    problems = []
    if len(seen) < PACKETS:
        problems.append(f"{name} was crossed by {len(seen)} of {PACKETS} packets {way}")
    expected = (path.spi, hop.si, hop.si - 1)
    for spi, si, si_after in set(seen) - {expected}:
        problems.append(
            f"{name} got SPI {spi} SI {si} and gave SI {si_after} {way}; "
            f"expected SPI {expected[0]} SI {expected[1]} and SI {expected[2]}"
        )
    return problems


def _counts(
    directions: Sequence[_Direction], counted: FlowCounter
) -> dict[tuple[str, int, int], int]:
    """Flow counters on both sides of each SF behind an SFC proxy."""
    keys: list[tuple[str, int, int]] = []
    for direction in directions:
        for hop in direction.path.hops if direction.path else ():
            if direction.path and not hop.function.type.nsh_aware:
                keys.append((hop.entry.node, direction.path.spi, hop.si))
                keys.append((hop.exit.node, direction.path.spi, hop.si - 1))
    return {key: counted(*key) for key in keys}
