"""The 5-tuple of a packet."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from sfcperf.packets.ethernet import IPV4, IPV6, network_layer

_WITH_PORTS = frozenset({6, 17, 132})
"""IP protocols whose header begins with ports: TCP, UDP, SCTP."""


class Flow(NamedTuple):
    """The 5-tuple of a packet. Addresses are text. Ports are 0 where the protocol has none, and in
    all fragments but the first."""

    source: str
    source_port: int
    destination: str
    destination_port: int
    protocol: int

    @property
    def canonical(self) -> Flow:
        """Return the flow or its reverse, whichever sorts first: it is the same for both
        directions."""
        return min(self, self.reverse)

    @property
    def reverse(self) -> Flow:
        """Return the 5-tuple of the replies: source and destination are swapped."""
        return Flow(
            self.destination, self.destination_port, self.source, self.source_port, self.protocol
        )


def flow_of(frame: bytes) -> Flow | None:
    """Return the flow of an Ethernet frame with IPv4, or with IPv6 without extension headers, also
    behind VLAN tags. None for other frames, and for those that are too short."""
    try:
        kind, at = network_layer(frame)
        if kind == IPV4:
            return _ipv4(frame, at)
        return _ipv6(frame, at) if kind == IPV6 else None
    except (IndexError, ValueError, struct.error):
        return None


def _ipv4(frame: bytes, at: int) -> Flow:
    """Return the flow of a packet whose IPv4 header begins at the offset `at`."""
    # The fragment offset, without the flags.
    fragment = struct.unpack_from(">H", frame, at + 6)[0] & 0x1FFF
    protocol = frame[at + 9]
    source, destination = (str(IPv4Address(frame[i : i + 4])) for i in (at + 12, at + 16))
    ports = _ports(frame, at + 4 * (frame[at] & 0x0F), protocol, fragment != 0)
    return Flow(source, ports[0], destination, ports[1], protocol)


def _ipv6(frame: bytes, at: int) -> Flow:
    """Return the flow of a packet whose IPv6 header begins at the offset `at`. With extension
    headers, the first of them is taken for the protocol, which has no ports."""
    protocol = frame[at + 6]
    source, destination = (str(IPv6Address(frame[i : i + 16])) for i in (at + 8, at + 24))
    ports = _ports(frame, at + 40, protocol, False)
    return Flow(source, ports[0], destination, ports[1], protocol)


def _ports(frame: bytes, at: int, protocol: int, later_fragment: bool) -> tuple[int, int]:
    """Return source and destination port; 0 for a protocol without ports, and for a fragment that
    is not the first."""
    if protocol not in _WITH_PORTS or later_fragment:
        return 0, 0
    source, destination = struct.unpack_from(">HH", frame, at)
    return source, destination
