"""Chooses the packets of a labelled trace that are sent, and tells what became of each of them."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from sfcperf.active.labelled_traffic.blocking import PacketFate
from sfcperf.counts import count_text
from sfcperf.errors import InputError, system_errors_as
from sfcperf.packets.ethernet import IPV4, network_layer, without_tags
from sfcperf.packets.five_tuple import Flow, flow_of
from sfcperf.packets.identity import Identity, identity
from sfcperf.packets.left_out import LeftOutCounts
from sfcperf.packets.pcap_file import recorded
from sfcperf.results.percentiles import percentiles
from sfcperf.traffic import labels
from sfcperf.traffic.labelled import LabelledPacket, LabelledTrace
from sfcperf.traffic.split import trains

Key = tuple[Flow, Identity | None]
"""What a packet is recognised by at both ends of a chain that changes no addresses: its 5-tuple,
and what VNFs leave as it is."""
_ETHERNET_BYTES = 14
_NS_PER_MS = 1e6
_LATE_MS = 50.0
_THIS_NETWORK, _BROADCAST = IPv4Network("0.0.0.0/8"), IPv4Address("255.255.255.255")


@dataclass(frozen=True)
class ReplayPlan:
    """The packets to send, in the order of the trace."""

    packets: Sequence[LabelledPacket]
    keys: Sequence[Key]
    """Key of each packet, in the same order."""
    left_out: LeftOutCounts
    """Frames that are not sent, by reason. Besides those that belong to no flow, the reasons are
    `training` (flows that train a classifier), `not_ipv4`, and `martian`: from or to an address
    that no router forwards (RFC 1812, section 5.3.7)."""
    frames: int
    """Number of all frames of the trace."""

    @property
    def longest_ip_bytes(self) -> int:
        """Return the length of the longest IP packet, which endpoints' MTU must hold."""
        return max(len(packet.frame) for packet in self.packets) - _ETHERNET_BYTES

    @property
    def span_s(self) -> float:
        """Return the time from the first packet of the trace to the last, at its own speed."""
        return (self.packets[-1].time_ns - self.packets[0].time_ns) / 1e9

    def without(self, addresses: Iterable[str]) -> ReplayPlan:
        """Return the plan without packets from or to these addresses. They are counted as left out
        for the reason `endpoint_addresses`."""
        known = frozenset(addresses)
        kept = [
            (packet, key)
            for packet, key in zip(self.packets, self.keys, strict=True)
            if not known & {packet.flow.source, packet.flow.destination}
        ]
        left = LeftOutCounts(self.left_out | {"endpoint_addresses": len(self.packets) - len(kept)})
        return replace(
            self, packets=[p for p, _ in kept], keys=[key for _, key in kept], left_out=left
        )


def plan(pcap: Path, label_file: Path, seed: int, training_share: float) -> ReplayPlan:
    """Plan to send the packets of all flows that do not train a classifier. VLAN tags are taken
    off, since endpoints have no VLANs. Plans are kept, so that files which have not changed are not
    read again. Raises InputError when no packet is left, one is not whole, or the capture is
    damaged."""
    return _plan(_version(pcap), _version(label_file), seed, training_share)


_Version = tuple[Path, int, int]
"""Path, modification time and size of a file."""


def _version(path: Path) -> _Version:
    """Return a file's path with its modification time and size. As arguments of `_plan`, the last
    two only make its cache miss after the file has changed."""
    with system_errors_as(InputError, "the file cannot be read", where=path):
        found = path.stat()
    return path, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=2)
def _plan(trace: _Version, label_file: _Version, seed: int, training_share: float) -> ReplayPlan:
    """Make the plan that `plan` returns. The two latest plans are kept, since all trials of a run
    send the same one."""
    pcap = trace[0]
    training: dict[Flow, bool] = {}
    packets, keys = [], []
    trace_packets = LabelledTrace(pcap, labels.read(label_file[0]))
    left_out = trace_packets.left_out
    # These reasons are in the record of a trial even if no frame was left out for them.
    left_out |= dict.fromkeys(("training", "not_ipv4", "martian"), 0)
    for packet in trace_packets:
        flow = packet.flow.canonical
        if network_layer(packet.frame)[0] != IPV4:
            left_out.add("not_ipv4")
            continue
        if _is_martian(flow.source) or _is_martian(flow.destination):
            left_out.add("martian")
            continue
        if flow not in training:
            training[flow] = trains(flow, seed, training_share)
        if training[flow]:
            left_out.add("training")
            continue
        untagged = packet._replace(frame=without_tags(packet.frame))
        _check_whole(untagged.frame, pcap)
        packets.append(untagged)
        keys.append((untagged.flow, identity(untagged.frame)))
    if not packets:
        raise InputError(
            "the trace has no IPv4 packets that do not train",
            where=str(pcap),
            hint="; ".join(left_out.lines(trace_packets.frames)) or None,
        )
    return ReplayPlan(packets, keys, left_out, trace_packets.frames)


@lru_cache(maxsize=65_536)
def _is_martian(address: str) -> bool:
    """Whether no router forwards packets from or to this IPv4 address (RFC 1812, section 5.3.7)."""
    known = IPv4Address(address)
    return known.is_multicast or known.is_loopback or known in _THIS_NETWORK or known == _BROADCAST


def _check_whole(frame: bytes, pcap: Path) -> None:
    """Raise InputError for a frame, without VLAN tags, that lacks a part of its IPv4 packet: only
    whole packets can be sent."""
    length = struct.unpack_from(">H", frame, 16)[0]  # total length in the IPv4 header
    if not length:
        raise InputError(
            "the capture has a packet whose IPv4 length is 0: it was captured before the network "
            "card divided it",
            where=str(pcap),
            hint="capture without offloads (ethtool -K INTERFACE tso off)",
        )
    if _ETHERNET_BYTES + length > len(frame):
        raise InputError(
            f"the capture has the first {len(frame)} bytes of a packet, not all "
            f"{_ETHERNET_BYTES + length}",
            where=str(pcap),
            hint="capture without a limit (tcpdump -s 0), and without offloads",
        )


def seen(capture: Path) -> Iterator[tuple[Key, int]]:
    """Give the key of each packet in a capture and when it was seen [ns]. Raises MeasurementError
    for a damaged capture."""
    for time_ns, frame in recorded(capture):
        if (flow := flow_of(frame)) is not None:
            yield (flow, identity(frame)), time_ns


@dataclass(frozen=True)
class ReplayOutcome:
    """What became of the packets of a plan, by captures before and behind the chain."""

    fates: Sequence[PacketFate]
    """Fate of each packet that was sent and has a label, in the order of sending."""
    sent: int
    """Packets of the plan that were sent, also those without a label."""
    arrived: int
    """Packets of the plan that came out of the chain, also those without a label."""
    not_sent: int
    duplicated: int
    """Packets that came out of the chain more often than they were sent."""
    ambiguous: int
    """Packets of the plan that look the same as others, where some of these were stopped. It cannot
    be seen which; the ones sent last are taken for them."""
    late_ns: Sequence[int]
    """How much later than its time in the trace each packet was sent, in relation to the packet
    that was sent earliest by this measure."""

    @property
    def late_ms(self) -> Mapping[int, float | None]:
        """Return percentiles 50 and 99 of how late packets were sent, ms; None for a percentile
        that so few packets do not tell."""
        return percentiles([late / _NS_PER_MS for late in self.late_ns], (50, 99))

    def doubts(self) -> Iterator[str]:
        """Say why a plan was not sent as it should have been: packets are missing, late, or came
        out twice."""
        if self.not_sent:
            were = "was" if self.not_sent == 1 else "were"
            yield f"{count_text(self.not_sent, 'packet')} of the trace {were} not sent"
        if self.duplicated:
            yield f"{count_text(self.duplicated, 'packet')} came out of the chain twice"
        late_ms = self.late_ms[99]
        if late_ms is not None and late_ms > _LATE_MS:
            yield f"1 % of the packets were sent more than {late_ms:.0f} ms late"


def replayed(
    planned: ReplayPlan,
    speed: float,
    before: Iterable[tuple[Key, int]],
    behind: Iterable[tuple[Key, int]],
) -> ReplayOutcome:
    """Tell packet by packet what became of a plan that was sent `speed` times as fast as it was
    captured. `before` and `behind` are the keys and times of the packets that were seen before and
    behind the chain."""
    places: defaultdict[Key, list[int]] = defaultdict(list)
    for place, key in enumerate(planned.keys):
        places[key].append(place)
    times: defaultdict[Key, list[int]] = defaultdict(list)
    for key, time_ns in before:
        if key in places:
            times[key].append(time_ns)
    # Canonical flow -> direction of its first packet in the plan.
    began: dict[Flow, Flow] = {}
    for packet in planned.packets:
        began.setdefault(packet.flow.canonical, packet.flow)
    arrivals = Counter(key for key, _ in behind if key in places)
    # When each packet was sent, its place in the plan, and whether it passed.
    sent_packets: list[tuple[int, int, bool]] = []
    duplicated = ambiguous = 0
    for key, own in places.items():
        sent_ns = sorted(times.get(key, ()))[: len(own)]
        # Packets with one key cannot be told apart: the first ones are taken to have passed.
        passed = min(arrivals[key], len(sent_ns))
        duplicated += arrivals[key] - passed
        ambiguous += len(sent_ns) if 0 < passed < len(sent_ns) else 0
        sent_packets += [(at, own[i], i < passed) for i, at in enumerate(sent_ns)]
    sent_packets.sort()
    # Each packet's time of sending, less its time in the trace at this speed.
    shifts_ns = [at - planned.packets[place].time_ns / speed for at, place, _ in sent_packets]
    least_ns = min(shifts_ns, default=0)
    return ReplayOutcome(
        fates=[
            PacketFate(
                known := p.flow.canonical,
                p.label,
                len(p.frame),
                at,
                passed,
                answer=p.flow != began[known],
            )
            for at, place, passed in sent_packets
            if (p := planned.packets[place]).label is not None
        ],
        sent=len(sent_packets),
        arrived=sum(passed for _, _, passed in sent_packets),
        not_sent=len(planned.packets) - len(sent_packets),
        duplicated=duplicated,
        ambiguous=ambiguous,
        late_ns=[round(shift - least_ns) for shift in shifts_ns],
    )
