"""pptmon on every form of packet: what is between the VNFs, and what comes out behind them."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.network.frames_judge import judge
from support.pptmon.bench import Chain
from support.pptmon.zoo import (
    DATA,
    FRAMES,
    RECEIVER_4,
    RECEIVER_6,
    SENDER_4,
    SENDER_6,
    ethernet,
    finished,
    network,
    service_header,
    udp,
)
from support.pptmon_model import packet
from support.pptmon_model.errors import FormatError
from support.pptmon_model.format import Format, Header, Hop, Metric
from support.pptmon_model.layers import Kind, walk

from sfcperf.dataplane.pptmon.events import Flow, Sample

pytestmark = pytest.mark.root

PADDED = {
    f"padded-{filler.hex()}/{name}": FRAMES[name].ljust(60, filler)
    for name in ("ipv4/udp-empty", "ipv4/udp-one-byte", "ipv4/tcp-no-data")
    for filler in (b"\0", b"\xaa")
}
ALL = FRAMES | PADDED
INSIDE: dict[str, tuple[int, Packet, Flow | None]] = {
    "ARP": (3, Ether() / ARP(), None),
    "ICMP": (1, network(4) / ICMP() / Raw(DATA), Flow("1", SENDER_4, RECEIVER_4)),
    "GRE over IPv6": (2, network(6, nh=47) / Raw(DATA), Flow("47", SENDER_6, RECEIVER_6)),
    "MPLS": (5, Raw(DATA), None),
    "nothing": (1, Raw(b""), None),
    "a fragment": (1, network(4, flags="MF") / udp(), None),
}
IN_NSH = {name for name in ALL if "/md2" in name}


def carries_in(name: str, carrier: str) -> packet.Carrier | None:
    """Where a packet's sample travels, by what was asked for."""
    if carrier != "l4" and name in IN_NSH:
        return packet.Carrier.NSH
    return None if carrier == "nsh" else packet.Carrier.L4


def flow_of(frame: bytes) -> Flow:
    """By the innermost headers."""
    layers = walk(frame)
    inner = frame[
        next(one.start for one in reversed(layers) if one.kind in (Kind.IPV4, Kind.IPV6)) :
    ]
    network = IP(inner) if inner[0] >> 4 == 4 else IPv6(inner)
    transport = network[TCP] if layers[-1].kind is Kind.TCP else network[UDP]
    source, destination = (str(ip_address(text)) for text in (network.src, network.dst))
    return Flow(layers[-1].kind.value, source, destination, transport.sport, transport.dport)


@pytest.mark.parametrize(
    ("layout", "carrier"), [(Format.RFC, "auto"), (Format.PAPER, "l4"), (Format.PAPER, "nsh")]
)
def test_every_form_is_measured_and_restored(
    chain_of: Callable[[int], Chain], layout: Format, carrier: str, tmp_path: Path
) -> None:
    chain = chain_of(3)
    chain.start("--period-ms", "0", "--format", layout.value, "--carrier", carrier)
    wrong: dict[str, str] = {}
    passing: dict[str, bytes] = {}
    for name, frame in ALL.items():
        seen = chain.exchange(frame)
        where = carries_in(name, carrier)
        try:
            assert [part.hex() for part in seen.received] == [frame.hex()], "not restored"
            if where is None:
                assert seen.between == ([frame], [frame]), "touched"
            else:
                check_between(frame, seen.between, layout, where)
        except (AssertionError, FormatError) as error:
            wrong[name] = str(error)
        for number, frames in enumerate(seen.between, 1):
            passing |= {f"{name} after VNF {number}": one for one in frames}
    assert wrong == {}
    verdicts = zip(passing, judge(passing.values(), tmp_path), strict=True)
    assert {name: one.wrong for name, one in verdicts if one.wrong} == {}
    sampled = [name for name in ALL if carries_in(name, carrier)]
    check_samples(chain, sampled, layout, carrier)
    check_counters(chain, len(sampled))


def check_between(
    frame: bytes, between: tuple[list[bytes], ...], layout: Format, where: packet.Carrier
) -> None:
    """What the model finds after each VNF: its hop in front of the others, which stay."""
    before: tuple[Hop, ...] = ()
    for number, frames in enumerate(between, 1):
        assert len(frames) == 1, f"{len(frames)} frames after VNF {number}"
        found = packet.read(frames[0])
        assert found is not None, f"no header after VNF {number}: {frames[0].hex()}"
        assert found.carrier is where
        assert found.format is (None if where is packet.Carrier.NSH else layout)
        assert found.header.metric is Metric.TIME and not found.header.truncated
        assert [hop.vnf_id for hop in found.header.hops] == list(range(number, 0, -1))
        assert found.header.hops[1:] == before
        assert packet.strip(frames[0]).hex() == frame.hex(), f"changed after VNF {number}"
        as_the_model = packet.add(frame, found.header, layout, where)
        assert frames[0].hex() == as_the_model.hex(), f"not as the model, after VNF {number}"
        before = found.header.hops


def check_samples(chain: Chain, names: list[str], layout: Format, carrier: str) -> None:
    samples = chain.sink.samples(len(names))
    assert len(samples) == len(names)
    numbers = [
        sample.sample for sample in samples if sample.carrier == "nsh" or layout is Format.RFC
    ]
    assert numbers == sorted(set(numbers)), "sample numbers do not count up"
    for name, sample in zip(names, samples, strict=True):
        check_sample(name, sample, layout, carrier)


def check_sample(name: str, sample: Sample, layout: Format, carrier: str) -> None:
    where = carries_in(name, carrier)
    assert where is not None
    assert sample.flow == flow_of(ALL[name]), name
    assert [hop.vnf_id for hop in sample.hops] == [1, 2, 3], name
    assert all(0 <= hop.value < 1_000_000 for hop in sample.hops), (name, sample)
    assert (sample.metric, sample.flags, sample.carrier) == ("time", frozenset(), where.value), name
    assert sample.own_time_ns is not None, name
    assert abs(sample.own_time_ns / 1000 - sample.hops[-1].value) <= 2, (name, sample)
    if where is packet.Carrier.NSH:
        assert (sample.spi, sample.si) == (42, 200), name
        assert sample.end_to_end_us is not None, name
        assert sample.end_to_end_us + 3 >= sum(hop.value for hop in sample.hops), name
    else:
        assert sample.format == layout.value, name


def check_counters(chain: Chain, count: int) -> None:
    source, transit, sink = (pptmon.counters() for pptmon in chain.pptmons)
    assert (source["sampled"], source["measured"]) == (count, count)
    assert (transit["added"], transit["measured"]) == (count, count)
    assert (sink["added"], sink["reported"]) == (count, count)
    for counters in (source, transit, sink):
        for name in ("truncated", "saturated", "no_room_options", "no_room_mtu", "fragments",
                     "already", "foreign", "malformed", "failed", "events_lost"):  # fmt: skip
            assert counters[name] == 0, (name, counters)


@pytest.mark.parametrize(("hook", "layout"), [("tcx", Format.PAPER), ("clsact", Format.RFC)])
def test_one_vnf_alone(chain_of: Callable[[int], Chain], hook: str, layout: Format) -> None:
    chain = chain_of(1)
    chain.start("--period-ms", "0", "--format", layout.value, "--attach", hook)
    wrong = {name: frame.hex() for name, frame in ALL.items()
             if chain.exchange(frame).received != [frame]}  # fmt: skip
    assert wrong == {}
    samples = chain.sink.samples(len(ALL))
    assert [[hop.vnf_id for hop in sample.hops] for sample in samples] == [[1]] * len(ALL)


def test_headers_that_the_model_wrote(chain_of: Callable[[int], Chain]) -> None:
    """Transit and sink without a source: the model is the source, and the judge."""
    chain = chain_of(2)
    chain.start(modes=["transit", "sink"])
    wrong = {}
    for layout in Format:
        header = Header((Hop(200, 0xFFFFFE),), sample=4 if layout is Format.RFC else 0)
        for name, frame in ALL.items():
            seen = chain.exchange(packet.add(frame, header, layout))
            found = packet.read(seen.between[0][0])
            if seen.received != [frame] or found is None or found.header.hops[1:] != header.hops:
                wrong[layout, name] = (found, [one.hex() for one in seen.received], frame.hex())
    assert wrong == {}
    samples = chain.sink.samples(2 * len(ALL))
    assert [[hop.vnf_id for hop in sample.hops] for sample in samples] == [[200, 1, 2]] * (
        2 * len(ALL)
    )
    assert {sample.hops[0].value for sample in samples} == {0xFFFFFE}


def test_metadata_travels_with_whatever_is_inside(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(2)
    chain.start("--period-ms", "0")
    for name, (following, payload, _) in INSIDE.items():
        frame = finished(ethernet() / Raw(bytes(service_header((), following) / payload)))
        seen = chain.exchange(frame)
        found = packet.read(seen.between[0][0])
        assert found is not None, name
        assert (found.carrier, seen.received) == (packet.Carrier.NSH, [frame]), name
    samples = chain.sink.samples(len(INSIDE))
    assert [sample.flow for sample in samples] == [flow for _, _, flow in INSIDE.values()]
    assert {(sample.spi, sample.si, len(sample.hops)) for sample in samples} == {(42, 200, 2)}


def test_delay(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(3)
    chain.start("--period-ms", "0", "--format", "rfc", "--metrics", "delay")
    names = ["ipv4/tcp", "ipv6/udp-odd", "nsh/md2/ipv4/tcp", "gpe4-set/md1/ipv4/tcp"]
    for name in names:
        seen = chain.exchange(ALL[name])
        assert seen.received == [ALL[name]], name
        found = packet.read(seen.between[1][0])
        assert found is not None
        assert found.header.metric is Metric.DELAY
    for sample in chain.sink.samples(len(names)):
        assert sample.metric == "delay"
        assert [hop.vnf_id for hop in sample.hops] == [1, 2, 3]
        values = [hop.value for hop in sample.hops]
        assert [0, *sorted(values[1:])] == values
        assert sample.end_to_end_us is not None and values[-1] <= sample.end_to_end_us


def test_metrics_take_turns(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(2)
    chain.start("--period-ms", "0", "--metrics", "time,delay")
    samples = chain.samples_of(*[ALL["ipv4/tcp"]] * 8)
    assert [sample.metric for sample in samples] == ["time", "delay"] * 4
