"""Sightings: marked packets in captures of all interfaces of a host (LINUX_SLL2).

A packet is known by its mark alone: NAT and load balancers change addresses and ports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from sfcperf.packets import pcap_file
from sfcperf.packets.marked import mark_of

LINKTYPE_LINUX_SLL2 = 276
"""https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html"""
_COOKED = Struct(">HxxIHBBQ")
"""Protocol, index of the interface, kind of hardware, packet type, link-layer address."""
_IPV4 = 0x0800
_TO_US, _FROM_US = 0, 4
"""Packet types: what is seen and meant for another host (3) is neither."""
_TTL = 8


@dataclass(frozen=True)
class Sighting:
    """A marked packet at an interface, as it was there."""

    interface: str
    outgoing: bool
    """Sent by the host, else taken in."""
    ttl: int


Seen = Mapping[bytes, tuple[Sighting, ...]]
"""Mark -> where its packet was seen at one host, in the order of that host's clock."""


def sightings(pcap: Path, interfaces: Mapping[int, str], marks: Collection[bytes]) -> Seen:
    """Where packets with these marks were seen, at interfaces (index -> name) that count. The file
    may still grow; one without its header yet is empty.

    Raises MeasurementError for anything but a capture with link type LINUX_SLL2.
    """
    seen: dict[bytes, tuple[Sighting, ...]] = dict.fromkeys(marks, ())
    if not pcap.exists() or pcap.stat().st_size < pcap_file.HEADER_BYTES:
        return seen
    for _, frame in pcap_file.frames(pcap, LINKTYPE_LINUX_SLL2):
        found = _sighting(frame, interfaces)
        mark = mark_of(frame[_COOKED.size :])
        if found is not None and mark in seen:
            seen[mark] += (found,)
    return seen


def _sighting(frame: bytes, interfaces: Mapping[int, str]) -> Sighting | None:
    """None for what a host neither took nor sent, or was elsewhere."""
    if len(frame) <= _COOKED.size + _TTL:
        return None
    protocol, index, _, kind, _, _ = _COOKED.unpack_from(frame)
    if protocol != _IPV4 or kind not in (_TO_US, _FROM_US) or index not in interfaces:
        return None
    return Sighting(interfaces[index], kind == _FROM_US, frame[_COOKED.size + _TTL])
