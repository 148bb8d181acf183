"""Marked packets: frames that the classifier sends into the chain and that can be told apart.

Built by hand because scapy takes a second to import; the tests let tshark judge them. None of
them provokes an answer with the mark in it: an unasked ICMP echo reply and a TCP RST are ignored,
and a refused UDP datagram comes back as ICMP, which `seen` does not take for the datagram.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from dataclasses import dataclass

from sfcperf.workflow.model import Match

MARK_LENGTH = 16
_PROTOCOLS = {"any": 1, "icmp": 1, "tcp": 6, "udp": 17}
_SOME_PORT = 49152


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


def marked_packet(match: Match, source: Side, destination: Side) -> MarkedPacket:
    """A packet with a fresh random mark."""
    mark = os.urandom(MARK_LENGTH)
    protocol = _PROTOCOLS[match.ip_proto]
    addresses = _address(source.address) + _address(destination.address)
    segment = _segment(protocol, addresses, source.port, destination.port, mark)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, protocol, 0)
    header = _with_checksum(header + addresses, 10)
    ethernet = _mac(destination.mac) + _mac(source.mac) + b"\x08\x00"
    return MarkedPacket(mark, ethernet + header + segment)


def sides(match: Match, client: Side, server: Side) -> tuple[Side, Side]:
    """Client and server with ports, and addresses, that the classifier matches."""
    return (
        Side(client.mac, client.address, match.source_port or _SOME_PORT),
        Side(server.mac, server.address, match.destination_port or _SOME_PORT + 1),
    )


def _segment(protocol: int, addresses: bytes, source: int, destination: int, mark: bytes) -> bytes:
    if protocol == 1:
        return _with_checksum(struct.pack("!BBHHH", 0, 0, 0, 0x5FC0, 1) + mark, 2)
    if protocol == 17:
        segment = struct.pack("!HHHH", source, destination, 8 + len(mark), 0) + mark
        at = 6
    else:
        rst = 0x04
        segment = struct.pack("!HHIIBBHHH", source, destination, 0, 0, 0x50, rst, 0, 0, 0) + mark
        at = 16
    pseudo = addresses + struct.pack("!BBH", 0, protocol, len(segment))
    return _with_checksum(pseudo + segment, len(pseudo) + at)[len(pseudo) :]


def _with_checksum(data: bytes, at: int) -> bytes:
    """The Internet checksum (RFC 1071) of the whole, written at an offset that holds zero."""
    padded = data + b"\x00" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return data[:at] + struct.pack("!H", ~total & 0xFFFF) + data[at + 2 :]


def _address(text: str) -> bytes:
    return ipaddress.IPv4Address(text).packed


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))
