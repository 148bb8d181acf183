"""The model of sfc-heavy-hitter: what it does with each frame. It specifies both engines.

Choueiri, Mazloum, Kfoury and Crichigno, "Scalable Heavy Hitter Detection in Virtualized
Environments: A DPDK-based Software Approach with P4 Integration" (poster): the packets of each flow
(5-tuple) are counted in a count-min sketch (Cormode and Muthukrishnan 2005), and a flow whose
smallest counter exceeds a threshold is a heavy hitter.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from sfcperf.dataplane.nsh.frame import ETHERNET_BYTES, IPV4, IPV6, Unparsed, parse_ip
from sfcperf.dataplane.nsh.header import ETHERTYPE as NSH
from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.dataplane.nsh.vxlan_gpe import UDP_PORT as VXLAN_GPE
from sfcperf.sketches.count_min import CountMin
from sfcperf.sketches.jhash import jhash

COUNTER_BITS = 32
MOST_ROWS = 8
_VLAN, _QINQ = 0x8100, 0x88A8
_UDP = 17
_GPE_BYTES, _UDP_BYTES, _IPV4_BYTES, _PORTS_BYTES = 8, 8, 20, 4
_ADDRESS_SALTS = 0x80000000
_MASK = 0xFFFFFFFF


class Action(StrEnum):
    """What happens to the packets of a heavy hitter."""

    BLOCK = "block"
    """Its packets are dropped, and no longer counted."""
    REPORT = "report"
    """Its packets are forwarded unchanged, and counted further."""
    MARK = "mark"
    """Its packets get a DSCP (RFC 2474), and are counted further."""


class FrameDropped(Exception):
    """The frame does not leave. `reason` is the name of the counter that counts it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Settings:
    """Settings of sfc-heavy-hitter, as its options set them."""

    rows: int = 4
    columns: int = 65_536
    """A power of two."""
    seed: int = 0
    threshold: int = 1000
    """Most packets in an epoch with which a flow is no heavy hitter yet."""
    action: Action = Action.BLOCK
    mark_dscp: int = 1
    """The default, 1, is lower effort (RFC 8622)."""
    conservative: bool = False
    nsh_only: bool = False
    reflect: bool = False


class ParsedFrame(NamedTuple):
    """What a frame carries, and where."""

    nsh_at: int | None
    """Offset of its NSH; None without NSH."""
    tunnel_at: int | None
    """Offset of the IPv4 header of a VXLAN-GPE tunnel; None without a tunnel."""
    flow: Flow | None
    """None: the frame belongs to no flow that is monitored."""
    ip_at: int = 0
    """Offset of the flow's IP header."""


def row_key(flow: Flow, seed: int) -> bytes:
    """Return the bytes that each row hashes behind its salt. Addresses of IPv4 are in it as they
    are. For those of IPv6 two hash values of the whole key stand, because a longer key would
    cost each row twice as much."""
    ports = flow.src_port << 16 | flow.dst_port
    protocol = flow.src.version << 8 | flow.proto
    tail = struct.pack(">II", ports, protocol)
    if flow.src.version == 4:
        return flow.src.packed + flow.dst.packed + tail
    whole = flow.src.packed + flow.dst.packed + tail
    salts = (seed + _ADDRESS_SALTS + number & _MASK for number in range(2))
    return (
        b"".join(struct.pack(">I", jhash(struct.pack(">I", salt) + whole)) for salt in salts) + tail
    )


@dataclass
class HeavyHitters:
    """Models an engine with one queue. Heavy hitters that it knows do not expire."""

    settings: Settings
    epoch: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    reports: list[tuple[int, Flow]] = field(default_factory=list)
    """Epoch and flow of each heavy hitter, in the order in which they were found."""

    def __post_init__(self) -> None:
        self._known: set[Flow] = set()
        self.sketch = self._empty()

    def enter(self, epoch: int) -> None:
        """Start another epoch: all counts are 0."""
        self.epoch = epoch
        self.sketch = self._empty()

    def process(self, frame: bytes, port: int = 0) -> tuple[int, bytes] | None:
        """Return the port by which a frame leaves and the frame as it leaves; None if it is
        dropped."""
        leaving = bytearray(frame)
        try:
            parsed = parse(frame, self.settings)
            if parsed.flow is None:
                self.counters["unmonitored"] += 1
            elif self._is_heavy(parsed.flow):
                self._act(leaving, parsed.ip_at)
        except FrameDropped as dropped:
            self.counters[dropped.reason] += 1
            return None
        self.counters["forwarded"] += 1
        if parsed.nsh_at is not None:
            leaving[parsed.nsh_at + 7] -= 1
        if not self.settings.reflect:
            return port ^ 1, bytes(leaving)
        return port, reflected(leaving, parsed.tunnel_at)

    def _is_heavy(self, flow: Flow) -> bool:
        """Count the packet, and say whether its flow is a heavy hitter. Packets that will be
        blocked are not counted."""
        key, blocks = row_key(flow, self.settings.seed), self.settings.action is Action.BLOCK
        heavy = self.sketch.estimate(key) >= self.settings.threshold
        if not (heavy and blocks):
            self.sketch.add(key)
            self.counters["counted"] += 1
        if heavy and flow not in self._known:
            self._known.add(flow)
            self.reports.append((self.epoch, flow))
        return flow in self._known

    def _act(self, leaving: bytearray, ip_at: int) -> None:
        """Do to a packet of a heavy hitter what the settings say. Raises FrameDropped if it is
        blocked."""
        if self.settings.action is Action.BLOCK:
            raise FrameDropped("blocked")
        self.counters["heavy"] += 1
        if self.settings.action is Action.MARK:
            mark(leaving, ip_at, self.settings.mark_dscp)

    def _empty(self) -> CountMin:
        """Return a sketch without counts."""
        settings = self.settings

        def place(key: bytes, row: int) -> int:
            salt = struct.pack(">I", settings.seed + row & _MASK)
            return jhash(salt + key) & settings.columns - 1

        return CountMin(
            settings.rows,
            settings.columns,
            COUNTER_BITS,
            place=place,
            conservative=settings.conservative,
        )


def reflected(frame: bytearray, tunnel_at: int | None) -> bytes:
    """Return the frame as it goes back: the addresses of Ethernet, and those of its tunnel, are
    swapped. The tunnel's UDP checksum becomes 0, which means that there is none."""
    frame[0:6], frame[6:12] = frame[6:12], frame[0:6]
    if tunnel_at is not None:
        at = tunnel_at + 12
        frame[at : at + 4], frame[at + 4 : at + 8] = frame[at + 4 : at + 8], frame[at : at + 4]
        checksum_at = tunnel_at + _IPV4_BYTES + 6
        frame[checksum_at : checksum_at + 2] = bytes(2)
    return bytes(frame)


def mark(frame: bytearray, at: int, dscp: int) -> None:
    """Set the DSCP of the IP packet at offset `at`. IPv4's checksum is updated by RFC 1624,
    equation 3."""
    if frame[at] >> 4 == 6:
        frame[at] = frame[at] & 0xF0 | dscp >> 2
        frame[at + 1] = frame[at + 1] & 0x3F | (dscp & 3) << 6
        return
    old, frame[at + 1] = frame[at + 1], frame[at + 1] & 3 | dscp << 2
    total = (_u16(frame, at + 10) ^ 0xFFFF) + (old ^ 0xFFFF) + frame[at + 1]
    for _ in range(2):
        total = (total & 0xFFFF) + (total >> 16)
    frame[at + 10 : at + 12] = (total ^ 0xFFFF).to_bytes(2, "big")


# --- parsing ---


def parse(frame: bytes, settings: Settings) -> ParsedFrame:
    """Return what a frame carries. Raises FrameDropped."""
    _require(len(frame) >= ETHERNET_BYTES, "truncated")
    ethertype, at, first = _u16(frame, 12), ETHERNET_BYTES, True
    for _ in range(2):
        if ethertype != _VLAN and not (first and ethertype == _QINQ):
            break
        _require(len(frame) >= at + 4, "truncated")
        ethertype, at, first = _u16(frame, at + 2), at + 4, False
    if ethertype == NSH:
        return _nsh(frame, at, len(frame), None)
    if ethertype == IPV4 and _is_tunnel(frame[at:]):
        return _tunnel(frame, at)
    _require(not settings.nsh_only, "passed")
    return ParsedFrame(None, None, _flow(frame[at:], ethertype), at)


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise FrameDropped(reason)


def _u16(data: bytes | bytearray, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


def _is_tunnel(ip: bytes) -> bool:
    """Say whether these bytes are IPv4 without options, not a fragment, with UDP to the port of
    VXLAN-GPE."""
    return (
        len(ip) >= _IPV4_BYTES + _PORTS_BYTES
        and ip[0] == 0x45
        and ip[9] == _UDP
        and not _u16(ip, 6) & 0x3FFF
        and _u16(ip, _IPV4_BYTES + 2) == VXLAN_GPE
    )


def _tunnel(frame: bytes, at: int) -> ParsedFrame:
    udp_at = at + _IPV4_BYTES
    gpe_at = udp_at + _UDP_BYTES
    _require(len(frame) >= gpe_at + _GPE_BYTES, "truncated")
    # Version 0 with the flags I and P; next protocol 4 is the NSH.
    _require(frame[gpe_at] & 0x3C == 0x0C and frame[gpe_at + 3] == 4, "encapsulation")
    end = udp_at + _u16(frame, udp_at + 4)
    _require(gpe_at + _GPE_BYTES <= end <= len(frame), "truncated")
    return _nsh(frame, gpe_at + _GPE_BYTES, end, at)


def _nsh(frame: bytes, at: int, end: int, tunnel_at: int | None) -> ParsedFrame:
    _require(end >= at + 8, "truncated")
    words, md_type, next_protocol = frame[at + 1] & 0x3F, frame[at + 2] & 0x0F, frame[at + 3]
    _require(frame[at] >> 6 == 0, "version")
    _require(md_type in (1, 2), "md_type")
    _require(words == 6 if md_type == 1 else words >= 2, "length")
    _require(at + 4 * words <= end, "truncated")
    _require(not frame[at] & 0x20, "oam")
    _require(frame[at + 7] != 0, "si_zero")
    _require(frame[at + 7] != 1, "si_exhausted")
    inner_at = at + 4 * words
    flow, ip_at = _inner(frame[inner_at:end], next_protocol)
    return ParsedFrame(at, tunnel_at, flow, inner_at + ip_at)


def _inner(data: bytes, next_protocol: int) -> tuple[Flow | None, int]:
    """Return the flow inside an NSH and the offset of its IP header in `data`; (None, 0) if
    there is none."""
    if next_protocol in (1, 2):
        return _flow(data, IPV4 if next_protocol == 1 else IPV6), 0
    if next_protocol != 3 or len(data) < ETHERNET_BYTES:
        return None, 0
    ethertype, at = _u16(data, 12), ETHERNET_BYTES
    if ethertype == _VLAN:
        if len(data) < at + 4:
            return None, 0
        ethertype, at = _u16(data, at + 2), at + 4
    return _flow(data[at:], ethertype), at


def _flow(data: bytes, ethertype: int) -> Flow | None:
    """Return the flow of an IP packet, without a service path; None if it cannot be parsed."""
    if ethertype not in (IPV4, IPV6):
        return None
    try:
        return parse_ip(data, ethertype, 0, 0).flow
    except Unparsed:
        return None
