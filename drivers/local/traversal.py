"""Traversal proof: marked packets are seen at each SF, in order, with the right SPI and SI.

The evidence is a capture at the SFFs' ports, in both directions between SFF and SF. An SF behind an
SFC proxy gets no NSH; its SPI and SI are those of the SFF's own flow counters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from sfcperf.dataplane.nsh import ETHERTYPE, NEXT_NSH, UDP_PORT, Nsh, NshError, VxlanGpe
from sfcperf.drivers.local.capture import Frame, send, write_pcapng
from sfcperf.drivers.local.captures import Captures
from sfcperf.drivers.local.layout import LocalLayout
from sfcperf.drivers.local.machine import Machine
from sfcperf.drivers.sff.layout import Port
from sfcperf.drivers.sff.paths import Path, PathHop, paths
from sfcperf.management.deployment import HopObservation, TraversalProof
from sfcperf.packets.marked import MarkedPacket, Side, marked_packet, sides
from sfcperf.workflow.model import Scenario

PACKETS = 3
"""Marked packets each way."""
TIMEOUT_S = 2.0
"""Time for all of them to arrive."""
_IPV4 = 0x0800
_UDP = 17

Machines = Mapping[str, Machine]
"""Node -> the machine that holds it."""
FlowCounter = Callable[[str], Mapping[tuple[int, int], int]]
"""Node -> (SPI, SI) -> packets that the node's SFF has looked up with them."""


@dataclass
class _Direction:
    """Marked packets of one direction, the attachments of their sender and receiver, and the path
    that they should take (None: around the chain)."""

    path: Path | None
    source: Port
    destination: Port
    packets: list[MarkedPacket]

    @property
    def way(self) -> str:
        """The direction in words: `from client to server`."""
        return f"from {self.source.instance} to {self.destination.instance}"


@dataclass(frozen=True)
class _Observation:
    """A marked packet at a port."""

    time_ns: int
    machine: str
    """Name of the machine whose clock tells the time."""
    spi: int | None
    si: int | None
    """SPI and SI are None for a packet without NSH."""

    def precedes(self, other: _Observation) -> bool:
        """Whether it was before the other one, or nobody can tell, because two clocks differ."""
        return self.machine != other.machine or self.time_ns <= other.time_ns


@dataclass(frozen=True)
class _Crossing:
    """How a marked packet crossed an SF: the SPI and SI with which it came, and the SI with which
    it left; -1: not observed."""

    spi: int
    si: int
    si_after: int


_Counts = dict[tuple[str, int, int], int]
"""(node, SPI, SI) -> packets."""


def prove(
    layout: LocalLayout,
    machines: Machines,
    scenario: Scenario,
    counted: FlowCounter,
    evidence: File,
) -> TraversalProof:
    """Send marked packets both ways and evaluate where they were seen; the capture goes to the file
    `evidence`. The caller has made the SFFs show packets to captures."""
    directions = _directions(layout, scenario)
    proxies = _nodes_with_proxies(directions)
    before = {node: counted(node) for node in proxies}
    ports = [p for node in layout.nodes for p in layout.ports(node)]
    capture = Captures(
        [(machines[p.node], p.outer, layout.nodes[p.node].namespace, p.outer) for p in ports]
    )
    try:
        for direction in directions:
            _send(layout, machines, direction)
        capture.collect(lambda: _all_arrived(capture.frames, directions), TIMEOUT_S)
    finally:
        capture.close()
    write_pcapng(evidence, capture.names, capture.frames)
    rose = _rise(before, {node: counted(node) for node in proxies})
    evaluated = [_evaluate(direction, layout, capture.frames, rose) for direction in directions]
    problems = tuple(problem for _, found in evaluated for problem in found)
    return TraversalProof(
        proven=not problems,
        method="capture at the SFFs' ports",
        sent=PACKETS,
        forward=evaluated[0][0],
        reverse=evaluated[1][0],
        problems=problems,
        evidence=(evidence.name,),
    )


def cross_unshown(
    layout: LocalLayout,
    machines: Machines,
    scenario: Scenario,
    counted: FlowCounter,
    nodes: Sequence[str],
) -> list[str]:
    """Send marked packets across the chain as trials do, invisible to captures at the ports of
    these nodes, and say what is wrong: each must arrive, and each SPI and SI be counted."""
    directions = _directions(layout, scenario)
    before = {node: counted(node) for node in nodes}
    capture = Captures([_inside(layout, machines, end) for end in (layout.client, layout.server)])
    try:
        for direction in directions:
            _send(layout, machines, direction)
        capture.collect(lambda: _all_arrived(capture.frames, directions, inside=True), TIMEOUT_S)
    finally:
        capture.close()
    rose = _rise(before, {node: counted(node) for node in nodes})
    return [
        problem
        for direction in directions
        for problem in (
            *_losses(direction, capture.frames),
            *_uncounted(direction, rose, nodes),
        )
    ]


def cross(layout: LocalLayout, machines: Machines, scenario: Scenario, timeout_s: float) -> int:
    """Send marked packets from client to server, and return how many the server receives within
    this time; at once when all have arrived (data_planes.Cross)."""
    forward, server = _directions(layout, scenario)[0], layout.server

    def arrived() -> int:
        found = (
            _observations(capture.frames, server, packet, outgoing=False)
            for packet in forward.packets
        )
        return sum(bool(each) for each in found)

    capture = Captures([_inside(layout, machines, server)])
    try:
        _send(layout, machines, forward)
        capture.collect(lambda: arrived() == PACKETS, timeout_s)
    finally:
        capture.close()
    return arrived()


def _inside(layout: LocalLayout, machines: Machines, end: Port) -> tuple[Machine, str, str, str]:
    """Name an endpoint's own interface for Captures."""
    return machines[end.node], end.outer, layout.namespaces[end.instance], end.inner


def _send(layout: LocalLayout, machines: Machines, direction: _Direction) -> None:
    """Send the packets of a direction from their endpoint."""
    source = direction.source
    namespace = layout.namespaces[source.instance]
    machines[source.node].call(send, namespace, source.inner, direction.packets)


def _losses(direction: _Direction, frames: Sequence[Frame]) -> list[str]:
    """Say how many packets the destination did not receive exactly once."""
    lost = [
        packet
        for packet in direction.packets
        if len(_observations(frames, direction.destination, packet, outgoing=False)) != 1
    ]
    if not lost:
        return []
    return [
        f"{len(lost)} of {PACKETS} packets {direction.way} did not arrive once without captures"
    ]


def _uncounted(direction: _Direction, rose: _Counts, nodes: Sequence[str]) -> list[str]:
    """Say which lookups these SFFs counted too few of."""
    if direction.path is None:
        return []
    spi = direction.path.spi
    return [
        f"the SFF of {node} counted {rose.get((node, spi, si), 0)} of {PACKETS} packets "
        f"{direction.way} with SPI {spi} SI {si} without captures"
        for node, si in direction.path.places
        if node in nodes and rose.get((node, spi, si), 0) < PACKETS
    ]


def _directions(layout: LocalLayout, scenario: Scenario) -> list[_Direction]:
    """Return both directions, each with new marked packets."""
    match = scenario.chain.match
    ends = (Side(port.mac, port.address, 0) for port in (layout.client, layout.server))
    client, server = sides(match, *ends)
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


def _all_arrived(
    frames: Sequence[Frame], directions: Sequence[_Direction], *, inside: bool = False
) -> bool:
    """Whether each packet was seen at its destination: where the SFF sends it, or, with `inside`,
    where the endpoint receives it."""
    return all(
        _observations(frames, direction.destination, packet, outgoing=not inside)
        for direction in directions
        for packet in direction.packets
    )


def _observations(
    frames: Sequence[Frame], port: Port, packet: MarkedPacket, *, outgoing: bool
) -> list[_Observation]:
    """Find each time that a packet was seen at a port, going out of the SFF (`outgoing`) or coming
    in. Mark and addresses must both be in the frame."""
    found = []
    for frame in frames:
        if (frame.interface, frame.outgoing) != (port.outer, outgoing):
            continue
        # `packet[1:]` are the addresses.
        if packet.mark in frame.data and packet.packet[1:] in frame.data:
            header = _nsh_of(frame.data)
            spi, si = (None, None) if header is None else (header.spi, header.si)
            found.append(_Observation(frame.time_ns, frame.machine, spi, si))
    return found


def _evaluate(
    direction: _Direction, layout: LocalLayout, frames: Sequence[Frame], rose: _Counts
) -> tuple[tuple[HopObservation, ...], list[str]]:
    """Return how the packets of one direction crossed each SF of their path, and what is wrong. A
    packet crosses an SF if it is seen once going in and once coming back, in this order and after
    the SF before. Without a path there are no crossings. `rose`: by how much the SFFs' counters
    rose."""
    if direction.path is None:
        return (), [*_strays(direction, layout, frames), *_arrivals(direction, frames, {})]
    problems: list[str] = []
    observed: list[HopObservation] = []
    last: dict[bytes, _Observation] = {}
    """Mark -> the packet as it left the SF before."""
    for hop in direction.path.hops:
        crossings: list[_Crossing] = []
        for packet in direction.packets:
            into = _observations(frames, hop.entry, packet, outgoing=True)
            back = _observations(frames, hop.exit, packet, outgoing=False)
            if len(into) != 1 or len(back) != 1:
                continue
            before = last.get(packet.mark, into[0])
            if not (before.precedes(into[0]) and into[0].precedes(back[0])):
                problems.append(f"{hop.function.spec.name}: packets crossed it out of order")
            last[packet.mark] = back[0]
            crossings.append(_crossing(direction.path, hop, into[0], back[0], rose))
        first = crossings[0] if crossings else _Crossing(-1, -1, -1)
        observed.append(
            HopObservation(
                hop.function.spec.name, first.spi, first.si, first.si_after, len(crossings)
            )
        )
        problems += _problems(direction, direction.path, hop, crossings)
    problems += _arrivals(direction, frames, last)
    return tuple(observed), list(dict.fromkeys(problems))


def _strays(direction: _Direction, layout: LocalLayout, frames: Sequence[Frame]) -> list[str]:
    """Say which SFs were crossed by packets that should bypass the chain."""
    return [
        f"{function.spec.name} was crossed by packets that should bypass the chain"
        for function in layout.functions
        if any(
            _observations(frames, function.ingress, packet, outgoing=True)
            or _observations(frames, function.egress, packet, outgoing=True)
            for packet in direction.packets
        )
    ]


def _arrivals(
    direction: _Direction, frames: Sequence[Frame], last: Mapping[bytes, _Observation]
) -> list[str]:
    """Say which packets did not reach the destination once, after the chain, and without NSH.
    `last`: mark -> the packet as it left the last SF."""
    problems = []
    for packet in direction.packets:
        arrivals = _observations(frames, direction.destination, packet, outgoing=True)
        if not arrivals or not last.get(packet.mark, arrivals[0]).precedes(arrivals[0]):
            problems.append(f"a packet {direction.way} did not arrive after the chain")
        elif len(arrivals) > 1:
            problems.append(f"a packet {direction.way} arrived {len(arrivals)} times")
        elif arrivals[0].spi is not None:
            problems.append(f"a packet {direction.way} arrived with its NSH")
    return problems


def _crossing(
    path: Path, hop: PathHop, into: _Observation, back: _Observation, rose: _Counts
) -> _Crossing:
    """Say how a packet crossed an SF; -1 stands for what was not observed. Behind an SFC proxy, SPI
    and SI count as observed if the SFFs looked all packets up with them."""
    if hop.function.type.nsh_aware:
        return _Crossing(*(-1 if v is None else v for v in (into.spi, into.si, back.si)))
    if into.spi is not None or back.spi is not None:
        # The SFC proxy has left the NSH on.
        return _Crossing(-1, -1, -1)
    reached = rose.get((hop.entry.node, path.spi, hop.si), 0) >= PACKETS
    left = rose.get((hop.exit.node, path.spi, hop.si - 1), 0) >= PACKETS
    return _Crossing(path.spi, hop.si if reached else -1, hop.si - 1 if left else -1)


def _problems(
    direction: _Direction, path: Path, hop: PathHop, crossings: Sequence[_Crossing]
) -> list[str]:
    """Say what is wrong with how packets crossed one SF: too few did, or with other SPI or SI than
    expected."""
    name, way = hop.function.spec.name, direction.way
    problems = []
    if len(crossings) < PACKETS:
        problems.append(
            f"{name} was crossed once by {len(crossings)} of {PACKETS} packets {direction.way}"
        )
    expected = _Crossing(path.spi, hop.si, hop.si - 1)
    problems += [
        f"{name} got SPI {found.spi} SI {found.si} and gave SI {found.si_after} {way}; "
        f"expected SPI {expected.spi} SI {expected.si} and SI {expected.si_after}"
        for found in set(crossings) - {expected}
    ]
    return problems


def _nodes_with_proxies(directions: Sequence[_Direction]) -> set[str]:
    """Find the nodes whose flow counters are needed: those with an SF behind an SFC proxy, which
    gets no NSH that a capture could show."""
    return {
        port.node
        for direction in directions
        for hop in (direction.path.hops if direction.path else ())
        if not hop.function.type.nsh_aware
        for port in (hop.entry, hop.exit)
    }


def _rise(
    before: Mapping[str, Mapping[tuple[int, int], int]],
    after: Mapping[str, Mapping[tuple[int, int], int]],
) -> _Counts:
    """Return by how much each counter rose. One that was not there before was 0."""
    return {
        (node, spi, si): packets - before[node].get((spi, si), 0)
        for node, counts in after.items()
        for (spi, si), packets in counts.items()
    }


def _nsh_of(frame: bytes) -> Nsh | None:
    """The outermost NSH, behind Ethernet or VXLAN-GPE; None if there is none or it is damaged."""
    ethertype, packet = int.from_bytes(frame[12:14], "big"), frame[14:]
    try:
        if ethertype == ETHERTYPE:
            return Nsh.decode(packet)[0]
        if ethertype == _IPV4 and packet[9:10] == bytes([_UDP]):
            datagram = packet[4 * (packet[0] & 0x0F) :]
            if int.from_bytes(datagram[2:4], "big") == UDP_PORT:
                tunnel, payload = VxlanGpe.decode(datagram[8:])
                return Nsh.decode(payload)[0] if tunnel.next_protocol == NEXT_NSH else None
    except NshError:
        pass
    return None
