"""The packets of a trial of heavy_hitter_mitigation: one large flow beside many small ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from ipaddress import IPv4Address

from sfcperf.active.labelled_traffic import ReplayPlan
from sfcperf.packets.five_tuple import Flow, flow_of
from sfcperf.packets.identity import identity
from sfcperf.packets.internet_checksum import with_checksum
from sfcperf.packets.left_out import LeftOutCounts
from sfcperf.traffic.labelled import LabelledPacket

HEAVY, BACKGROUND = "heavy_hitter", "background"
"""Labels of the packets."""
LEAST_FRAME_BYTES = 64
_DESTINATION = IPv4Address("192.0.2.1")
"""Address for documentation (RFC 5737), which nobody has: nobody answers."""
_FIRST_SOURCE, _SOURCES = IPv4Address("198.18.0.0"), 1 << 17
"""First address, and number of addresses, of the network for benchmarks, 198.18.0.0/15 (RFC 2544,
appendix C.2.2). Each trial takes one as the source."""
_HEAVY_PORT, _FIRST_PORT = 1023, 1024
"""Source ports of the large flow and of the first small flow."""
MOST_BACKGROUND_FLOWS = 65_536 - _FIRST_PORT
_FCS_BYTES, _ETHERNET_BYTES, _IP_BYTES, _UDP_BYTES = 4, 14, 20, 8
_TTL, _UDP, _DONT_FRAGMENT = 64, 17, 0x4000
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Traffic:
    """The traffic of a trial: a large flow and a background of small flows. The background begins
    at once, the large flow after `lead_s`."""

    rate_pps: int
    background_pps: int
    background_flows: int
    lead_s: float
    duration_s: float
    """Time from the first packet of the background to the end, seconds."""
    frame_bytes: int
    """Length of every frame, with the frame check sequence."""
    port: int
    """Destination port of all packets."""

    @property
    def heavy_packets(self) -> int:
        """Return the number of packets of the large flow; not positive if `lead_s` leaves it no
        time."""
        return round((self.duration_s - self.lead_s) * self.rate_pps)

    @property
    def background_packets(self) -> int:
        """Return the number of packets of all small flows together."""
        return round(self.duration_s * self.background_pps)

    def plan(self, trial: int) -> ReplayPlan:
        """Return the packets in the order of sending. Trials with different numbers have different
        source addresses, because a function may still remember the flows of earlier trials."""
        address = _FIRST_SOURCE + trial % _SOURCES
        heavy = self._times(self.heavy_packets, self.rate_pps, self.lead_s)
        small = self._times(self.background_packets, self.background_pps, 0)
        packets = [
            self._packet(at, address, number, label)
            for at, label, number in merge(
                ((at, HEAVY, number) for number, at in enumerate(heavy)),
                ((at, BACKGROUND, number) for number, at in enumerate(small)),
            )
        ]
        keys = [(packet.flow, identity(packet.frame)) for packet in packets]
        return ReplayPlan(packets, keys, LeftOutCounts(), len(packets))

    def _times(self, packets: int, rate_pps: int, begin_s: float) -> Iterator[int]:
        """Return when the packets of one kind are due, at even steps from `begin_s` on [ns]."""
        begin_ns = round(begin_s * _NS_PER_S)
        return (begin_ns + number * _NS_PER_S // rate_pps for number in range(packets))

    def _packet(self, at_ns: int, source: IPv4Address, number: int, label: str) -> LabelledPacket:
        """Make packet `number` of its kind, from 0. Small flows take turns."""
        port = _HEAVY_PORT if label == HEAVY else _FIRST_PORT + number % self.background_flows
        frame = self._frame(source, port, number)
        flow = flow_of(frame)
        assert isinstance(flow, Flow)
        return LabelledPacket(at_ns, frame, flow, label)

    def _frame(self, source: IPv4Address, source_port: int, number: int) -> bytes:
        """Return an Ethernet frame whose MAC addresses are 0; the sender fills them in. UDP over
        IPv4 needs no checksum (RFC 768): it is 0. The payload begins with the packet's number, by
        which packets are told apart."""
        length = self.frame_bytes - _FCS_BYTES - _ETHERNET_BYTES
        header = struct.pack(
            ">BBHHHBBH", 0x45, 0, length, 0, _DONT_FRAGMENT, _TTL, _UDP, 0
        )  # fmt: skip
        header = with_checksum(header + source.packed + _DESTINATION.packed, 10)
        udp = struct.pack(">HHHH", source_port, self.port, length - _IP_BYTES, 0)
        data = struct.pack(">I", number).ljust(length - _IP_BYTES - _UDP_BYTES, b"\0")
        return bytes(12) + b"\x08\x00" + header + udp + data
