"""Observations of marked packets in captures of all interfaces of a host (LINUX_SLL2).

Only its mark identifies a packet: NAT and load balancers change addresses and ports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from struct import Struct

from sfcperf.dataplane.nsh import ETHERTYPE as NSH
from sfcperf.dataplane.nsh import NextProtocol, Nsh, NshError
from sfcperf.packets import pcap_file
from sfcperf.packets.marked import mark_of

LINKTYPE_LINUX_SLL2 = 276
"""https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html"""
_HEADER = Struct(">HxxIHBBQ")
"""Protocol, index of the interface, kind of hardware, packet type, link-layer address."""
_IPV4 = 0x0800
_RECEIVED, _FOR_ANOTHER, _SENT = 0, 3, 4
"""Packet types. Packets for another host are no instance's, but at the SFF's end of an attachment
all that come in are such."""
_TTL = 8
"""Place of the TTL in an IPv4 packet."""
_ETHERNET_BYTES = 14


@dataclass(frozen=True)
class Observation:
    """A marked packet at an interface."""

    interface: str
    outgoing: bool
    """Whether the instance sent it; else it received it."""
    ttl: int
    spi: int | None = None
    si: int | None = None
    """SPI and SI of the NSH in which it was; None for plain IP."""


Observations = Mapping[bytes, tuple[Observation, ...]]
"""Mark -> where its packet was observed at one host, in the order of that host's clock."""


def observe(
    pcap: Path, interfaces: Mapping[int, str], marks: Collection[bytes], *, at_sff: bool = False
) -> Observations:
    """Find where packets with these marks were observed, at these interfaces (index -> name), which
    are the instance's or, with `at_sff`, the other ends of its attachments. The file may still
    grow; without its header it counts as empty.

    Raises MeasurementError for anything but a capture with link type LINUX_SLL2.
    """
    found: dict[bytes, tuple[Observation, ...]] = dict.fromkeys(marks, ())
    if not pcap.exists() or pcap.stat().st_size < pcap_file.HEADER_BYTES:
        return found
    received = (_RECEIVED, _FOR_ANOTHER) if at_sff else (_RECEIVED,)
    for _, frame in pcap_file.recorded(pcap, LINKTYPE_LINUX_SLL2):
        unpacked = _unpacked(frame, interfaces, received)
        if unpacked is None:
            continue
        observation, packet = unpacked
        mark = mark_of(packet)
        if mark in found:
            outgoing = observation.outgoing != at_sff
            found[mark] += (replace(observation, outgoing=outgoing),)
    return found


def _unpacked(
    frame: bytes, interfaces: Mapping[int, str], received: Collection[int]
) -> tuple[Observation, bytes] | None:
    """Read an observation from a captured frame, and the IPv4 packet. None for packets that the
    host neither sent nor received, for other interfaces and other protocols. `received`: types of
    packets that count as received."""
    if len(frame) <= _HEADER.size:
        return None
    protocol, index, _, kind, _, _ = _HEADER.unpack_from(frame)
    packet, nsh = frame[_HEADER.size :], None
    if protocol == NSH:
        try:
            nsh, inner = Nsh.decode(packet)
        except NshError:
            return None
        if nsh.next_protocol != NextProtocol.ETHERNET:
            return None
        protocol = int.from_bytes(inner[_ETHERNET_BYTES - 2 : _ETHERNET_BYTES], "big")
        packet = inner[_ETHERNET_BYTES:]
    if protocol != _IPV4 or len(packet) <= _TTL:
        return None
    if kind not in (*received, _SENT) or index not in interfaces:
        return None
    path = (None, None) if nsh is None else (nsh.spi, nsh.si)
    return Observation(interfaces[index], kind == _SENT, packet[_TTL], *path), packet
