"""Marked packets: frames that the classifier sends into the chain and that can be told apart.

Built by hand because scapy takes a second to import; the tests let tshark judge them. None of
them provokes an answer with the mark in it: an unasked ICMP echo reply and a TCP RST are ignored,
and a refused UDP datagram comes back as ICMP, which nobody takes for the datagram: `mark_of` looks
for a mark only where `marked_packet` puts it.
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
    """One end of a marked packet's way."""

    mac: str
    address: str
    port: int


@dataclass(frozen=True)
class MarkedPacket:
    """A frame as the source endpoint sends it."""

    mark: bytes
    data: bytes

    @property
    def packet(self) -> bytes:
        """The IPv4 packet's addresses and protocol: what stays the same on the whole way."""
        return self.data[23:24] + self.data[26:34]

    @property
    def protocol(self) -> int:
        """IPv4 protocol number."""
        return self.data[23]

    @property
    def ip_bytes(self) -> int:
        """Length of the IPv4 packet; no function on the way changes it."""
        return len(self.data) - _ETHERNET_BYTES


def marked_packet(match: Match, source: Side, destination: Side) -> MarkedPacket:
    """A packet with a fresh random mark."""
    mark = os.urandom(MARK_LENGTH)
    protocol = _PROTOCOLS[match.ip_proto]
    addresses = _address(source.address) + _address(destination.address)
    segment = _segment(protocol, addresses, source.port, destination.port, mark)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, TTL, protocol, 0)
    header = with_checksum(header + addresses, 10)
    ethernet = _mac(destination.mac) + _mac(source.mac) + b"\x08\x00"
    return MarkedPacket(mark, ethernet + header + segment)


def sides(match: Match, client: Side, server: Side) -> tuple[Side, Side]:
    """Client and server with ports, and addresses, that the classifier matches."""
    return (
        Side(client.mac, client.address, match.source_port or _SOME_PORT),
        Side(server.mac, server.address, match.destination_port or _SOME_PORT + 1),
    )


def mark_of(packet: bytes) -> bytes | None:
    """What is in the place of the mark in a captured IPv4 packet, whatever NAT and load balancers
    made of its addresses and ports; None for a packet that cannot be a marked one."""
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
    """None for what `_segment` does not make: of ICMP it makes echo replies only, so that errors,
    which quote a packet, are told apart."""
    if protocol == _ICMP:
        return 8 if segment[:2] == b"\x00\x00" else None
    if protocol == _UDP:
        return 8
    if protocol == _TCP and len(segment) > 12:
        return 4 * (segment[12] >> 4)
    return None


def _segment(protocol: int, addresses: bytes, source: int, destination: int, mark: bytes) -> bytes:
    if protocol == _ICMP:
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
    return ipaddress.IPv4Address(text).packed


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))
