"""Marked packets: frames that the classifier sends into the chain and that can be told apart.

The frames are built by hand because scapy takes a second to import; the tests let tshark judge
them. No answer to such a frame is taken for the frame. An ICMP echo reply that nobody asked for,
and a TCP RST, get no answer. A refused UDP datagram comes back within an ICMP error, but `mark_of`
looks for a mark only where `marked_packet` puts it.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from dataclasses import dataclass

from sfcperf.packets.internet_checksum import with_checksum
from sfcperf.workflow.model import Match

MARK_LENGTH = 16
TTL = 64
_ICMP, _TCP, _UDP = 1, 6, 17
_PROTOCOLS = {"any": _ICMP, "icmp": _ICMP, "tcp": _TCP, "udp": _UDP}
_SOME_PORT = 49152
_ETHERNET_BYTES = 14
_LEAST_IP_BYTES = 20


@dataclass(frozen=True)
class Side:
    """One end of a marked packet's way: the addresses and the port there."""

    mac: str
    address: str
    port: int


@dataclass(frozen=True)
class MarkedPacket:
    """A marked packet, as a frame that the source endpoint sends. `mark` is in its payload."""

    mark: bytes
    data: bytes

    @property
    def packet(self) -> bytes:
        """Return the protocol and the addresses of the IPv4 packet as bytes. They stay the same on
        the whole way unless a function changes addresses."""
        # Offsets 9 and 12 to 19 of the IPv4 header, behind 14 bytes of Ethernet.
        return self.data[23:24] + self.data[26:34]

    @property
    def protocol(self) -> int:
        """Return the protocol number in the IPv4 header."""
        return self.data[23]

    @property
    def ip_bytes(self) -> int:
        """Return the length of the IPv4 packet; no function on the way changes it."""
        return len(self.data) - _ETHERNET_BYTES


def marked_packet(match: Match, source: Side, destination: Side) -> MarkedPacket:
    """Make a packet with a fresh random mark, of a protocol that the classifier matches."""
    mark = os.urandom(MARK_LENGTH)
    protocol = _PROTOCOLS[match.ip_proto]
    addresses = _address(source.address) + _address(destination.address)
    segment = _segment(protocol, addresses, source.port, destination.port, mark)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, TTL, protocol, 0)
    header = with_checksum(header + addresses, 10)
    ethernet = _mac(destination.mac) + _mac(source.mac) + b"\x08\x00"
    return MarkedPacket(mark, ethernet + header + segment)


def sides(match: Match, client: Side, server: Side) -> tuple[Side, Side]:
    """Return the client's and the server's side with ports that the classifier matches; any port
    where it matches none. MAC and IP addresses stay as they are."""
    return (
        Side(client.mac, client.address, match.source_port or _SOME_PORT),
        Side(server.mac, server.address, match.destination_port or _SOME_PORT + 1),
    )


def mark_of(packet: bytes) -> bytes | None:
    """Return the bytes in the place of the mark in a captured IPv4 packet. It does not matter what
    NAT and load balancers have made of addresses and ports. None for a packet that cannot be a
    marked one."""
    # The last two terms: later fragments have no transport header.
    if len(packet) < _LEAST_IP_BYTES or packet[0] >> 4 != 4 or packet[6] & 0x1F or packet[7]:
        return None
    at = 4 * (packet[0] & 0x0F)
    if at < _LEAST_IP_BYTES:
        return None
    header_bytes = _segment_header_bytes(packet[9], packet[at:])
    if header_bytes is None:
        return None
    mark = packet[at + header_bytes : at + header_bytes + MARK_LENGTH]
    return mark if len(mark) == MARK_LENGTH else None


def _segment_header_bytes(protocol: int, segment: bytes) -> int | None:
    """Return the length of the transport header; None for a segment that `_segment` does not make.
    Of ICMP it makes echo replies only, so an ICMP error, which quotes another packet, gives
    None."""
    if protocol == _ICMP:
        return 8 if segment[:2] == b"\x00\x00" else None
    if protocol == _UDP:
        return 8
    if protocol == _TCP and len(segment) > 12:
        return 4 * (segment[12] >> 4)
    return None


def _segment(protocol: int, addresses: bytes, source: int, destination: int, mark: bytes) -> bytes:
    """Make an ICMP echo reply, a UDP datagram or a TCP RST that carries the mark. `addresses` are
    those of the IPv4 header; they are part of the checksum of UDP and TCP."""
    if protocol == _ICMP:
        # Type, code, checksum, identifier, and sequence number.
        return with_checksum(struct.pack("!BBHHH", 0, 0, 0, 0x5FC0, 1) + mark, 2)
    if protocol == _UDP:
        segment = struct.pack("!HHHH", source, destination, 8 + len(mark), 0) + mark
        at = 6
    else:
        rst = 0x04
        segment = struct.pack("!HHIIBBHHH", source, destination, 0, 0, 0x50, rst, 0, 0, 0) + mark
        at = 16
    pseudo = addresses + struct.pack("!BBH", 0, protocol, len(segment))
    return with_checksum(pseudo + segment, len(pseudo) + at)[len(pseudo) :]


def _address(text: str) -> bytes:
    """Return the 4 bytes of an IPv4 address."""
    return ipaddress.IPv4Address(text).packed


def _mac(text: str) -> bytes:
    """Return the 6 bytes of a MAC address."""
    return bytes.fromhex(text.replace(":", ""))
