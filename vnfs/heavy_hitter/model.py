"""What sfc-heavy-hitter does with each frame: the specification of both engines.

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
"""What is added to the seed for the salt of the first hash value of IPv6 addresses. For those of
rows, the row's number is added."""
_MASK = 0xFFFFFFFF


class Action(StrEnum):
    """What happens to the packets of a heavy hitter."""

    BLOCK = "block"
    """The packets are dropped, and not counted beyond the threshold of a window."""
    REPORT = "report"
    """Nothing happens to the packets, and they are counted on."""
    MARK = "mark"
    """The packets get a DSCP (RFC 2474), and are counted on."""


class FrameDropped(Exception):
    """The frame does not leave; `reason` names the counter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Settings:
    """What the options of sfc-heavy-hitter set."""

    rows: int = 4
    columns: int = 65_536
    """Counters of each row: a power of two."""
    seed: int = 0
    """Salt of row 0; each further row has the next number."""
    threshold: int = 1000
    """The most packets in a window with which a flow is no heavy hitter."""
    action: Action = Action.BLOCK
    mark_dscp: int = 1
    """DSCP that the action `mark` sets; 1: lower effort (RFC 8622)."""
    conservative: bool = False
    """Whether only the smallest counters of a flow grow."""
    nsh_only: bool = False
    """Whether only frames with an NSH are for this function."""
    reflect: bool = False
    """Whether frames leave by the port where they came in; else by the other one."""


class ParsedFrame(NamedTuple):
    """What a frame carries, and where: offsets in bytes."""

    nsh_at: int | None
    """Where its NSH is; None: it has none."""
    tunnel_at: int | None
    """Where the IPv4 header of VXLAN-GPE is; None: it is not in a tunnel."""
    flow: Flow | None
    """The flow of the frame; None: it is not monitored."""
    ip_at: int = 0
    """Where the flow's IP header is; meaningless without a flow."""


def row_key(flow: Flow, seed: int) -> bytes:
    """Return what each row hashes behind its salt. Addresses of IPv4 are in it as they are, and
    those of IPv6 as two hash values of the whole key, because a longer key would cost each row
    twice as much."""
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
    """A model of an engine with one queue, whose known heavy hitters do not expire."""

    settings: Settings
    epoch: int = 0
    """Number of the window."""
    counters: Counter[str] = field(default_factory=Counter)
    """Frames by what became of them; the names are those of `counter_names` in tool.c."""
    reports: list[tuple[int, Flow]] = field(default_factory=list)
    """Epoch and flow, in the order in which they were found."""

    def __post_init__(self) -> None:
        self._known: set[Flow] = set()
        self.sketch = self._empty()

    def enter(self, epoch: int) -> None:
        """Begin another epoch: all counts are 0. Known heavy hitters stay known."""
        self.epoch = epoch
        self.sketch = self._empty()

    def process(self, frame: bytes, port: int = 0) -> tuple[int, bytes] | None:
        """Process a frame that came in by `port`. Return the port by which it leaves, and the frame
        as it is then; None if it does not leave."""
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
        """Count the packet, report its flow if this packet makes it a heavy hitter, and say whether
        it is one. With the action `block`, packets beyond the threshold are not counted."""
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
        """Do with a packet of a heavy hitter what the settings say. Raises FrameDropped if it is
        blocked."""
        if self.settings.action is Action.BLOCK:
            raise FrameDropped("blocked")
        self.counters["heavy"] += 1
        if self.settings.action is Action.MARK:
            mark(leaving, ip_at, self.settings.mark_dscp)

    def _empty(self) -> CountMin:
        """Return an empty sketch. Each row hashes its own salt, then the key."""
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
    """Turn the frame round in place, and return it as bytes: the addresses of Ethernet, and those
    of its tunnel, are swapped, and the tunnel's UDP has no checksum (0)."""
    frame[0:6], frame[6:12] = frame[6:12], frame[0:6]
    if tunnel_at is not None:
        at = tunnel_at + 12
        frame[at : at + 4], frame[at + 4 : at + 8] = frame[at + 4 : at + 8], frame[at : at + 4]
        checksum_at = tunnel_at + _IPV4_BYTES + 6
        frame[checksum_at : checksum_at + 2] = bytes(2)
    return bytes(frame)


def mark(frame: bytearray, at: int, dscp: int) -> None:
    """Set the DSCP in the IP header at the offset `at`. IPv4's checksum follows RFC 1624, equation
    3."""
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
    """Say what a frame carries. Raises FrameDropped if it does not leave."""
    _require(len(frame) >= ETHERNET_BYTES, "truncated")
    ethertype, at, first = _u16(frame, 12), ETHERNET_BYTES, True
    # A frame may have two VLAN tags, of which only the first one may be a service tag.
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
    """Whether an IPv4 packet is VXLAN-GPE by its headers: without options, UDP, no fragment,
    destination port 4790."""
    return (
        len(ip) >= _IPV4_BYTES + _PORTS_BYTES
        and ip[0] == 0x45
        and ip[9] == _UDP
        and not _u16(ip, 6) & 0x3FFF
        and _u16(ip, _IPV4_BYTES + 2) == VXLAN_GPE
    )


def _tunnel(frame: bytes, at: int) -> ParsedFrame:
    """Read VXLAN-GPE, whose IPv4 header is at `at`, and the NSH inside. Raises FrameDropped."""
    udp_at = at + _IPV4_BYTES
    gpe_at = udp_at + _UDP_BYTES
    _require(len(frame) >= gpe_at + _GPE_BYTES, "truncated")
    # Version 0 with the flags I and P; next protocol 4 is the NSH.
    _require(frame[gpe_at] & 0x3C == 0x0C and frame[gpe_at + 3] == 4, "encapsulation")
    # The packet ends where UDP's length says; padding of the frame may follow.
    end = udp_at + _u16(frame, udp_at + 4)
    _require(gpe_at + _GPE_BYTES <= end <= len(frame), "truncated")
    return _nsh(frame, gpe_at + _GPE_BYTES, end, at)


def _nsh(frame: bytes, at: int, end: int, tunnel_at: int | None) -> ParsedFrame:
    """Read the NSH at `at` and the packet that it carries, which ends at `end`. Raises FrameDropped
    for an NSH that the function cannot serve: SI 1 would become 0."""
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
    """Return the flow of what an NSH carries (None: it is not monitored), and the offset of its IP
    header in `data`."""
    if next_protocol in (1, 2):  # IPv4, IPv6; 3 is Ethernet
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
    """Return the flow of an IP packet; None: it is not IP, or cannot be parsed."""
    if ethertype not in (IPV4, IPV6):
        return None
    try:
        # SPI and SI are 0 in all flows: the key of a flow is its 5-tuple.
        return parse_ip(data, ethertype, 0, 0).flow
    except Unparsed:
        return None
