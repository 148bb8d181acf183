"""Traces that someone has made who knows SFCMon and its hash functions, in the sizes of the
reference configuration.

Keys with wanted hash values are searched for by brute force. What is true of a trace is counted by
the reference parser, flow by flow.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address
from typing import Any

import mmh3
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6

from sfcperf.dataplane.nsh import Nsh
from sfcperf.dataplane.nsh.frame import Unparsed, parse
from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.sketches.listing import Certainty, Listing
from sfcperf.vnfs.sfcmon.model import Bank
from sfcperf.vnfs.sfcmon.settings import BLOOM_SEED, CMS_SEED, Sizes, Thresholds
from support.sfcmon.frames import over_ethernet, over_vxlan_gpe, random_frames, tcp6, udp4

SIZES = Sizes()
ALL = Thresholds(eval=0, share=0, packets=0)
NSH4 = Nsh(spi=1, si=255, next_protocol=1)
UDP_NUMBER = 17
SOURCE, DESTINATION = IPv4Address("198.51.100.1"), IPv4Address("203.0.113.1")
_KEYS = 100_000
"""That are searched, where a part of them has the wanted hash values."""
_LISTABLE = 200
"""Flows that the IBLT can nearly always list."""


@dataclass(frozen=True)
class Trace:
    """Frames, and what the registers hold before the first."""

    frames: list[bytes]
    thresholds: Thresholds = ALL
    before: dict[str, Any] | None = None
    counted_before: Counter[bytes] = field(default_factory=Counter)
    """FlowID2 -> packets that `before` stands for."""

    def packets(self) -> Counter[bytes]:
        """FlowID2 -> packets, of all sources."""
        counts = Counter(self.counted_before)
        for frame in self.frames:
            with suppress(Unparsed):
                counts[parse(frame).flow.flow_id_2] += 1
        return counts


def misreported(trace: Trace, listed: Listing) -> list[str]:
    """What a listing says that is not true."""
    true = trace.packets()
    # Flows of a source count from when it is a heavy hitter.
    whole = trace.thresholds == ALL
    wrong = []
    for flow in listed.flows:
        sent, said = true[flow.key], f"{Flow.of_key(flow.key)}: {flow.packets} {flow.certainty}"
        if not sent:
            wrong.append(f"{said}, but there is no such flow")
        elif (
            flow.certainty is Certainty.EXACT
            and (flow.packets > sent or (whole and flow.packets != sent))
        ) or (flow.certainty is Certainty.AT_MOST and whole and flow.packets < sent):
            wrong.append(f"{said}, but it sent {sent}")
    if len({flow.key for flow in listed.flows}) != len(listed.flows):
        wrong.append("a flow is listed twice")
    return wrong


@cache
def trace(name: str) -> Trace:
    """One of `NAMES`."""
    return _MAKERS[name]()


@cache
def model(name: str) -> Bank:
    """The reference model after the trace; not to be changed."""
    made = trace(name)
    bank = Bank(SIZES, made.thresholds)
    if made.before:
        bank.load(made.before)
    for frame in made.frames:
        bank.receive(frame)
    return bank


def _keys(count: int) -> Iterator[bytes]:
    """FlowID2 of so many flows of one source."""
    head, source = bytes.fromhex("000001ff11040000"), SOURCE.packed
    for number in range(count):
        block, port = divmod(number, 1 << 16)
        ports = port.to_bytes(2, "big") + b"\0\x35"
        yield head + ports + source + (int(DESTINATION) + block).to_bytes(4, "big")


def _flows(count: int) -> list[Flow]:
    return [Flow.of_key(key) for key in _keys(count)]


def _sources() -> Iterator[Flow]:
    for number in itertools.count():
        source = IPv4Address(int(IPv4Address("10.0.0.0")) + number)
        yield Flow(1, 255, source, DESTINATION, UDP_NUMBER, 1000, 53)


def _frame(flow: Flow) -> bytes:
    return over_ethernet(udp4(str(flow.src), str(flow.dst), flow.src_port, flow.dst_port), NSH4)


def _each(flows: Iterable[Flow]) -> list[bytes]:
    """Two packets of each."""
    return [_frame(flow) for flow in flows] * 2


@cache
def _cells() -> dict[tuple[int, ...], list[Flow]]:
    """Cells of the IBLT -> flows that have exactly these."""
    shape, found = SIZES.iblt, defaultdict(list)
    for key in _keys(_KEYS):
        found[tuple(sorted(shape.places(key)))].append(Flow.of_key(key))
    return found


def _same_cells() -> Trace:
    """Pairs of flows that no listing can tell apart, and flows that share a cell with them."""
    pairs = [flows for flows in _cells().values() if len(flows) > 1][:10]
    assert len(pairs) == 10
    flows = [flow for pair in pairs for flow in pair] + _flows(40)
    return Trace(_each(dict.fromkeys(flows)))


def _few_cells() -> Trace:
    """All flows in a few cells: each of these has several, so that none is pure."""
    flows = [flow for cells, flows in _cells().items() if cells[-1] < 20 for flow in flows]
    assert len(flows) > 20
    return Trace(_each(flows))


def _bloom_filter_full() -> Trace:
    """More flows than the Bloom filter and the IBLT are made for."""
    return Trace(_each(_flows(1500)))


def _stored_by_others() -> Trace:
    """Flows that come last and whose bits in the Bloom filter others have set."""
    first = list(_keys(_LISTABLE))
    bits = {_bit(key, i) for key in first for i in range(SIZES.bloom_hashes)}
    late = [
        key
        for key in itertools.islice(_keys(5 * _KEYS), _LISTABLE, None)
        if all(_bit(key, i) in bits for i in range(SIZES.bloom_hashes))
    ]
    assert late
    return Trace(_each(map(Flow.of_key, first)) + _each(map(Flow.of_key, late)) * 5)


def _bit(key: bytes, number: int) -> int:
    return mmh3.hash(key, BLOOM_SEED + number, signed=False) * SIZES.bloom_bits >> 32


def _mouse_that_looks_heavy() -> Trace:
    """Each row of the count-min sketch has another source in the counter of a source that sends
    little: it is taken for a heavy hitter."""
    sources = _sources()
    mouse = next(sources)
    helpers: dict[int, Flow] = {}
    for flow in sources:
        for row in range(SIZES.cms_rows):
            if row not in helpers and _column(flow, row) == _column(mouse, row):
                helpers[row] = flow
        if len(helpers) == SIZES.cms_rows:
            break
    heavy = [_frame(flow) for flow in helpers.values()] * 200
    return Trace(heavy + [_frame(mouse)] * 20, Thresholds(0, 0, 100))


def _many_sources() -> Trace:
    frames = [_frame(flow) for flow in itertools.islice(_sources(), 1000)]
    return Trace(frames, Thresholds(eval=100))


def _column(flow: Flow, row: int) -> int:
    return mmh3.hash(flow.flow_id_1, CMS_SEED + row, signed=False) * SIZES.cms_columns >> 32


def _counters_near_their_maximum() -> Trace:
    """A flow whose counters wrap, while those that must not wrap stay."""
    (flow,) = _flows(1)
    bank = Bank(SIZES, ALL)
    bank.receive(_frame(flow))
    registers = bank.registers()
    sent = 2**32 - 3
    registers["packets"] = sent
    registers["unparsed"] = [2**32 - 2] * 5
    registers["cms"] = [[row, column, 2**24 - 2] for row, column, _ in registers["cms"]]
    registers["iblt"] = [[*cell[:4], sent, 2**64 - 50] for cell in registers["iblt"]]
    frames = [_frame(flow)] * 10 + list(itertools.islice(_cut(), 100))
    return Trace(
        frames,
        before=registers,
        counted_before=Counter({flow.flow_id_2: sent}),
    )


def _cut() -> Iterator[bytes]:
    """Frames that end in each header; an interface takes none without an Ethernet header."""
    four = udp4("192.0.2.1", "192.0.2.2", size=4)
    six = tcp6("2001:db8::1", "2001:db8::2")
    for frame in (
        over_ethernet(four, NSH4),
        over_ethernet(six, Nsh(1, 255, next_protocol=3)),
        over_vxlan_gpe(four, NSH4),
    ):
        for end in range(14, len(frame) + 1):
            yield frame[:end]


def _spoofed() -> Iterator[bytes]:
    """Addresses that no sender has."""
    draw = random.Random(1)
    for address in ("0.0.0.0", "255.255.255.255", "127.0.0.1", "224.0.0.1", "192.0.2.2"):
        packet = IP(src=address, dst="192.0.2.2") / UDP(sport=0, dport=0)
        yield over_ethernet(packet, NSH4)
    for address in ("::", "::1", "ff02::1", "::ffff:10.0.0.1", "ff" * 2 + ":" + "ff" * 2 + "::"):
        packet = IPv6(src=address, dst="::") / UDP(sport=0, dport=65_535)
        yield over_ethernet(packet, Nsh(0xFFFFFF, 255, next_protocol=2))
    for _ in range(1000):
        source = str(IPv4Address(draw.randrange(1 << 32)))
        nsh = Nsh(draw.randrange(1 << 24), draw.randrange(1, 256), next_protocol=1)
        yield over_ethernet(udp4(source, "192.0.2.2", draw.randrange(65_536)), nsh)


_MAKERS = {
    "pairs with the same cells": _same_cells,
    "all flows in a few cells": _few_cells,
    "more flows than there is room for": _bloom_filter_full,
    "stored by others": _stored_by_others,
    "a source that seems heavy": _mouse_that_looks_heavy,
    "counters near their maximum": _counters_near_their_maximum,
    "damaged frames": lambda: Trace(random_frames(7, 1000)),
    "cut at each byte": lambda: Trace(list(_cut())),
    "spoofed sources": lambda: Trace(list(_spoofed())),
    "each packet a source of its own": _many_sources,
}
NAMES = tuple(_MAKERS)
