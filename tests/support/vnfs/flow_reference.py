"""Features of flows by another way than vnfs/ids: scapy's parser, lists of packets, fractions.

It follows docs/reference/flow-features.md and shares nothing with the C code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import floor, isqrt
from typing import Any

from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet

IDLE_US = 1_000_000
EXTENSIONS = (IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt, IPv6ExtHdrRouting, IPv6ExtHdrFragment)

End = tuple[str, int]
Record = tuple[str, int, int, tuple[Any, ...]]
"""kind, first_ns, last_ns, features."""


@dataclass(frozen=True)
class Seen:
    """A packet as the features need it."""

    time_ns: int
    source: End
    destination: End
    protocol: int
    length: int
    header: int
    psh: bool
    urg: bool
    dscp: int

    @property
    def flow(self) -> tuple[int, frozenset[End]]:
        """The same in both directions."""
        return self.protocol, frozenset((self.source, self.destination))


def parse(time_ns: int, frame: bytes) -> Seen | None:
    """None: no IP packet."""
    packet: Packet = Ether(frame)
    if packet.haslayer(NSH):
        packet = packet[NSH].payload
    for kind in (IP, IPv6):
        if packet.haslayer(kind):
            return _of_ipv4(time_ns, packet[IP]) if kind is IP else _of_ipv6(time_ns, packet[IPv6])
    return None


def _of_ipv4(time_ns: int, ip: Packet) -> Seen:
    whole = not ip.flags.MF and ip.frag == 0
    transport = ip.payload if whole else None
    return _seen(time_ns, ip, ip.proto, ip.len, 4 * ip.ihl, ip.tos >> 2, transport)


def _of_ipv6(time_ns: int, ip: Packet) -> Seen:
    header, layer, following, whole = 40, ip.payload, ip.nh, True
    while whole and isinstance(layer, EXTENSIONS):
        header += 8 if isinstance(layer, IPv6ExtHdrFragment) else 8 * (layer.len + 1)
        if isinstance(layer, IPv6ExtHdrFragment):
            whole = layer.offset == 0 and not layer.m
        following, layer = layer.nh, layer.payload
    transport = layer if whole else None
    return _seen(time_ns, ip, following, 40 + ip.plen, header, ip.tc >> 2, transport)


def _seen(
    time_ns: int,
    ip: Packet,
    protocol: int,
    length: int,
    header: int,
    dscp: int,
    transport: Packet | None,
) -> Seen:
    ports, flags = (0, 0), ""
    if isinstance(transport, TCP):
        ports, flags = (transport.sport, transport.dport), str(transport.flags)
        header += 4 * transport.dataofs
    elif isinstance(transport, UDP):
        ports = (transport.sport, transport.dport)
        header += 8
    source, destination = (ip.src, ports[0]), (ip.dst, ports[1])
    psh, urg = "P" in flags, "U" in flags
    return Seen(time_ns, source, destination, protocol, length, header, psh, urg, dscp)


def _spread(values: Sequence[int]) -> list[int]:
    """Least, mean, most, standard deviation of a sample: all rounded down."""
    if not values:
        return [0, 0, 0, 0]
    mean = Fraction(sum(values), len(values))
    deviation = 0
    if len(values) > 1:
        squares = sum((value - mean) ** 2 for value in values)
        deviation = isqrt(floor(squares / (len(values) - 1)))
    return [min(values), floor(mean), max(values), deviation]


def features(packets: Sequence[Seen], client: End) -> tuple[Any, ...]:
    """The 46 columns of packets of one flow whose first packet came from `client`."""
    times = [packet.time_ns // 1000 for packet in packets]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    periods: list[list[int]] = [[0]]
    for number, gap in enumerate(gaps, start=1):
        if gap > IDLE_US:
            periods.append([])
        periods[-1].append(number)
    first = packets[0]
    server = first.destination if first.source == client else first.source
    ways = [
        [n for n, p in enumerate(packets) if (p.source == client) is way] for way in (True, False)
    ]
    if client == server:
        ways = [list(range(len(packets))), []]
    lengths = [[packets[n].length for n in way] for way in ways]
    arrivals = []
    for way in ways:
        mine = [[times[n] for n in period if n in set(way)] for period in periods]
        arrivals.append([b - a for each in mine for a, b in pairwise(each)])
    active = [times[period[-1]] - times[period[0]] for period in periods]
    marked = [p.dscp for p in packets if p.dscp]
    return (
        *client,
        *server,
        first.protocol,
        *(value for each in lengths for value in (len(each), sum(each))),
        *(value for each in lengths for value in _spread(each)),
        *(value for each in arrivals for value in _spread(each)),
        times[-1] - times[0],
        *_spread(active),
        *_spread([gap for gap in gaps if gap > IDLE_US]),
        *(value // len(periods) for each in lengths for value in (len(each), sum(each))),
        *(sum(packets[n].psh for n in way) for way in ways),
        *(sum(packets[n].urg for n in way) for way in ways),
        *(sum(packets[n].header for n in way) for way in ways),
        marked[0] if marked else 0,
        None,
    )


def _epochs(packets: Iterable[Seen], window_ns: int) -> list[list[Seen]]:
    """Packets with times that do not decrease, divided where the clock was set back."""
    epochs: list[list[Seen]] = []
    now = 0
    for packet in packets:
        if not epochs or packet.time_ns + window_ns < now:
            epochs.append([])
            now = 0
        now = max(now, packet.time_ns)
        epochs[-1].append(Seen(**{**vars(packet), "time_ns": now}))
    return epochs


def _lives(packets: Sequence[Seen], slide_ns: int, panes: int) -> list[list[Seen]]:
    lives: list[list[Seen]] = []
    for packet in packets:
        pane = packet.time_ns // slide_ns
        if not lives or pane - lives[-1][-1].time_ns // slide_ns > panes:
            lives.append([])
        lives[-1].append(packet)
    return lives


@dataclass
class _Begun:
    """A flow that has begun."""

    packets: list[Seen] = field(default_factory=list)
    reported: bool = False


def _early(
    epoch: Sequence[Seen], slide_ns: int, panes: int, early_packets: int, early_flows: int
) -> Iterator[Record]:
    """Early records, in their order."""
    flows: dict[Any, _Begun] = {}
    begun: dict[tuple[int, str], list[_Begun]] = {}
    """(pane, client) -> the flows that it began."""
    for packet in epoch if early_packets else ():
        pane, flow = packet.time_ns // slide_ns, flows.get(packet.flow)
        if flow is None or pane - flow.packets[-1].time_ns // slide_ns > panes:
            flow = flows[packet.flow] = _Begun()
            begun.setdefault((pane, packet.source[0]), []).append(flow)
        flow.packets.append(packet)
        due = [flow] if len(flow.packets) == early_packets else []
        if len(flow.packets) == 1:
            unreported = [each for each in begun[pane, packet.source[0]] if not each.reported]
            due = unreported if len(unreported) == early_flows else due
        for each in due:
            if not each.reported:
                yield _record("early", each.packets, each.packets[0].source)
            each.reported = True


def records(
    frames: Iterable[tuple[int, bytes]],
    window_ms: int,
    slide_ms: int,
    early_packets: int,
    early_flows: int,
) -> list[Record]:
    """Of (time in ns, Ethernet frame): early ones in their order, then the others, sorted."""
    window_ns, slide_ns = window_ms * 10**6, slide_ms * 10**6
    panes = window_ns // slide_ns
    seen = [packet for time_ns, frame in frames if (packet := parse(time_ns, frame))]
    early: list[Record] = []
    found: list[Record] = []
    for epoch in _epochs(seen, window_ns):
        early += _early(epoch, slide_ns, panes, early_packets, early_flows)
        flows: dict[Any, list[Seen]] = {}
        for packet in epoch:
            flows.setdefault(packet.flow, []).append(packet)
        for flow in flows.values():
            for life in _lives(flow, slide_ns, panes):
                client = life[0].source
                names = {p.time_ns // slide_ns + i for p in life for i in range(panes)}
                for name in names:
                    inside = [p for p in life if 0 <= name - p.time_ns // slide_ns < panes]
                    found.append(_record("window", inside, client))
    return early + sorted(found, key=repr)


def _record(kind: str, packets: Sequence[Seen], client: End) -> Record:
    return kind, packets[0].time_ns, packets[-1].time_ns, features(packets, client)
