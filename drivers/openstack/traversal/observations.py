"""Observations of marked packets in captures of all interfaces of a host (LINUX_SLL2).

Only its mark identifies a packet: NAT and load balancers change addresses and ports.
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
_HEADER = Struct(">HxxIHBBQ")
"""Protocol, index of the interface, kind of hardware, packet type, link-layer address."""
_IPV4 = 0x0800
_RECEIVED, _SENT = 0, 4
"""Packet types; packets for another host (3) are neither."""
_TTL = 8
"""Place of the TTL in an IPv4 packet."""


@dataclass(frozen=True)
class Observation:
    """A marked packet at an interface."""

    interface: str
    outgoing: bool
    """Whether the host sent it; else it received it."""
    ttl: int


Observations = Mapping[bytes, tuple[Observation, ...]]
"""Mark -> where its packet was observed at one host, in the order of that host's clock."""


def observe(pcap: Path, interfaces: Mapping[int, str], marks: Collection[bytes]) -> Observations:
    """Find where packets with these marks were observed, at these interfaces (index -> name). The
    file may still grow; without its header it counts as empty.

    Raises MeasurementError for anything but a capture with link type LINUX_SLL2.
    """
    found: dict[bytes, tuple[Observation, ...]] = dict.fromkeys(marks, ())
    if not pcap.exists() or pcap.stat().st_size < pcap_file.HEADER_BYTES:
        return found
    for _, frame in pcap_file.recorded(pcap, LINKTYPE_LINUX_SLL2):
        observation = _observation(frame, interfaces)
        mark = mark_of(frame[_HEADER.size :])
        if observation is not None and mark in found:
            found[mark] += (observation,)
    return found


def _observation(frame: bytes, interfaces: Mapping[int, str]) -> Observation | None:
    """Read an observation from a captured frame; None for frames that are too short or not IPv4,
    for packets that the host neither received nor sent, and for other interfaces."""
    if len(frame) <= _HEADER.size + _TTL:
        return None
    protocol, index, _, kind, _, _ = _HEADER.unpack_from(frame)
    if protocol != _IPV4 or kind not in (_RECEIVED, _SENT) or index not in interfaces:
        return None
    return Observation(interfaces[index], kind == _SENT, frame[_HEADER.size + _TTL])
