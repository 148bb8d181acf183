"""Traversal proof: marked packets are seen at the node's end of each cable, in order.

Nothing is concluded from the rules that should have led them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.drivers.local.capture import Capture, Frame, send, write_pcapng
from sfcperf.management.deployment import HopObservation, TraversalProof
from sfcperf.packets.marked import MarkedPacket, Side, marked_packet, sides
from sfcperf.workflow.model import Scenario
from sfcperf_policy_routing.layout import NODE, NODE_MAC, Cable, Layout
from sfcperf_policy_routing.routing import ways

PACKETS = 3
TIMEOUT_S = 2.0


def prove(layout: Layout, scenario: Scenario, evidence: Path) -> TraversalProof:
    """Send marked packets both ways and evaluate where they were seen; the capture goes to the file
    `evidence`. Raises MeasurementError if they cannot be sent or captured."""
    node = layout.namespace(NODE)
    # All packets go to the node's MAC address. `sides` chooses the ports.
    client, server = sides(
        scenario.chain.match,
        *(Side(NODE_MAC, layout.addresses[name], 0) for name in ("client", "server")),
    )
    match = scenario.chain.match
    outward = [marked_packet(match, client, server) for _ in range(PACKETS)]
    back = [marked_packet(match, server, client) for _ in range(PACKETS)]
    forward, reverse = ways(layout, scenario)
    capture = Capture([(cable.outer, node, cable.outer) for cable in layout.cables])
    try:
        for way, packets in ((forward, outward), (reverse, back)):
            send(layout.namespace(way[0].instance), way[0].inner, packets)
        ends = ((forward[-1], outward), (reverse[-1], back))
        # Until all packets have left by the last cable of their way.
        capture.collect(
            lambda: all(
                _times(capture.frames, end, packet, outgoing=True)
                for end, packets in ends
                for packet in packets
            ),
            TIMEOUT_S,
        )
    finally:
        capture.close()
    write_pcapng(evidence, capture.names, capture.frames)
    seen_forward, wrong_forward = _evaluate(capture.frames, layout, forward, outward)
    seen_back, wrong_back = _evaluate(capture.frames, layout, reverse, back)
    problems = tuple(dict.fromkeys([*wrong_forward, *wrong_back]))
    return TraversalProof(
        proven=not problems,
        method="capture at the node's end of every cable",
        sent=PACKETS,
        forward=seen_forward,
        reverse=seen_back,
        problems=problems,
        evidence=(evidence.name,),
    )


def _evaluate(
    frames: Sequence[Frame], layout: Layout, way: Sequence[Cable], packets: Sequence[MarkedPacket]
) -> tuple[tuple[HopObservation, ...], list[str]]:
    """Return what was seen at each function on the way, and what contradicts a proper crossing.

    Packets come to the node by the cables with even places on their way, those of the source and
    out of functions, and leave it by those with odd places.
    """
    direction = f"from {way[0].instance} to {way[-1].instance}"
    problems = []
    # Function -> packets that entered it once and came back once.
    crossed = dict.fromkeys((entry.instance for entry in way[1:-1:2]), 0)
    for packet in packets:
        times = _way_of(frames, packet, way)
        if times != sorted(times):
            problems.append(f"a packet {direction} crossed the functions out of order")
        strays = [
            cable.instance
            for cable in layout.cables
            if cable not in way and _times(frames, cable, packet, outgoing=True)
        ]
        problems += [f"a packet {direction} was at {name}, off its way" for name in strays]
        for entry, exit_ in zip(way[1:-1:2], way[2:-1:2], strict=True):
            into = _times(frames, entry, packet, outgoing=True)
            back = _times(frames, exit_, packet, outgoing=False)
            crossed[entry.instance] += len(into) == len(back) == 1
        if len(_times(frames, way[-1], packet, outgoing=True)) != 1:
            problems.append(f"a packet {direction} did not arrive exactly once")
    problems += [
        f"{name} was crossed once by {count} of {PACKETS} packets {direction}"
        for name, count in crossed.items()
        if count < PACKETS
    ]
    # There is no NSH here, and so neither SPI nor SI.
    seen = (HopObservation(n, None, None, None, count) for n, count in crossed.items())
    return tuple(seen), problems


def _way_of(frames: Sequence[Frame], packet: MarkedPacket, way: Sequence[Cable]) -> list[int]:
    """Return when a packet was seen on its way, cable by cable: from the source into the node, from
    the node into the first function, back from there, ..."""
    return [
        time_ns
        for number, cable in enumerate(way)
        for time_ns in _times(frames, cable, packet, outgoing=number % 2 == 1)
    ]


def _times(
    frames: Sequence[Frame], cable: Cable, packet: MarkedPacket, *, outgoing: bool
) -> list[int]:
    """Return when a packet passed the node's end of a cable, out of the node (`outgoing`) or into
    it: Unix time, nanoseconds."""
    return [
        frame.time_ns
        for frame in frames
        if (frame.interface, frame.outgoing) == (cable.outer, outgoing)
        and packet.mark in frame.data
        # Both addresses, which functions must not change; the first byte is the protocol.
        and packet.packet[1:] in frame.data
    ]
