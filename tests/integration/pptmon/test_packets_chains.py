"""Chains of all lengths: what fits, and what is truncated and says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scapy.packet import Raw
from support.pptmon.bench import Chain
from support.pptmon.zoo import (
    FRAMES,
    OTHER_CONTEXTS,
    ethernet,
    finished,
    network,
    service_header,
    tcp,
    tunnel,
    udp,
)
from support.pptmon_model import packet
from support.pptmon_model.format import Format, Header, Hop
from support.pptmon_model.value import decode_float, encode_float

pytestmark = pytest.mark.root

_IN_NSH = service_header((), 1) / network(4) / udp(data=bytes(1500 - 8 - 28))
_IN_TUNNEL = service_header((), 1) / network(4) / udp(data=bytes(1500 - 36 - 8 - 28))
FULL = {
    "tcp": finished(ethernet() / network(4) / tcp(data=bytes(1460))),
    "udp": finished(ethernet() / network(6) / udp(data=bytes(1452))),
    "nsh": finished(ethernet() / Raw(bytes(_IN_NSH))),
    "gpe": finished(ethernet() / network(4) / tunnel(True) / Raw(bytes(_IN_TUNNEL))),
}
"""1500 bytes without Ethernet's header."""

ROOM: dict[tuple[str, Format], int] = {
    # 40 bytes of options: kind, length and ExID take 4 (rfc: 8), each hop 4
    ("ipv4/tcp", Format.PAPER): 9,
    ("ipv4/tcp", Format.RFC): 8,
    ("ipv6/tcp", Format.PAPER): 9,
    # 12 bytes of timestamps
    ("ipv4/tcp-timestamps", Format.PAPER): 6,
    ("ipv6/tcp-timestamps", Format.RFC): 5,
    # 20 bytes of a SYN
    ("ipv4/tcp-syn", Format.PAPER): 4,
    ("ipv4/tcp-syn", Format.RFC): 3,
    # one byte of length, of which 255 is no length (RFC 9868)
    ("ipv4/udp", Format.PAPER): 62,
    ("ipv4/udp-odd", Format.PAPER): 62,
    ("ipv4/udp-odd", Format.RFC): 61,
    ("ipv6/udp", Format.RFC): 61,
    ("gpe4-set/md1/ipv4/tcp", Format.PAPER): 9,
    ("gpe6-set/md1/ipv6/udp", Format.RFC): 61,
}


def test_the_last_hop_that_fits(chain_of: Callable[[int], Chain]) -> None:
    """One transit and the sink, behind VNFs of which the model wrote the hops."""
    chain = chain_of(2)
    chain.start(modes=["transit", "sink"])
    reported = 0
    for (name, layout), room in ROOM.items():
        frame = FRAMES[name]
        for there, added, truncated in ((room - 2, 2, False), (room - 1, 1, True), (room, 0, True)):
            before = tuple(Hop(100 + n, n) for n in range(there, 0, -1))
            seen = chain.exchange(packet.add(frame, Header(before), layout))
            found = packet.read(seen.between[0][0])
            assert found is not None, name
            assert found.header.hops[-there:] == before, name
            hops = (len(found.header.hops), found.header.truncated)
            assert hops == (there + min(added, 1), added == 0), name
            assert packet.strip(seen.between[0][0]) == frame, name
            assert seen.received == [frame], name
            reported += 1
            sample = chain.sink.samples(reported)[-1]
            ids = [100 + n for n in range(1, there + 1)] + [1, 2][:added]
            assert [hop.vnf_id for hop in sample.hops] == ids, name
            assert ("truncated" in sample.flags) == truncated, name
            assert (sample.own_time_ns is not None) == (added == 2), name
    transit, sink = (pptmon.counters() for pptmon in chain.pptmons)
    assert (transit["truncated"], sink["truncated"]) == (len(ROOM), 2 * len(ROOM))


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(
    ("layout", "hops"),
    [
        (Format.RFC, {"ipv4/tcp": 8, "ipv6/udp": 9}),
        (Format.PAPER, {"ipv4/tcp": 9, "ipv4/tcp-timestamps": 6, "nsh/md2/ipv4/tcp": 9}),
    ],
)
def test_a_chain_of_nine(
    chain_of: Callable[[int], Chain], layout: Format, hops: dict[str, int]
) -> None:
    chain = chain_of(9)
    chain.start("--period-ms", "0", "--format", layout.value)
    for name, room in hops.items():
        before, frame = len(chain.sink.samples()), FRAMES[name]
        seen = chain.exchange(*[frame] * 5)
        assert seen.received == [frame] * 5, name
        for number, frames in enumerate(seen.between, 1):
            for one in frames:
                found = packet.read(one)
                assert found is not None, name
                assert len(found.header.hops) == min(number, room), name
                assert found.header.truncated == (number > room), name
        samples = chain.sink.samples(before + 5)[before:]
        ids = [[hop.vnf_id for hop in sample.hops] for sample in samples]
        assert ids == [list(range(1, room + 1))] * 5, name
        assert {"truncated" in sample.flags for sample in samples} == {room < 9}, name


@pytest.mark.exhaustive
def test_a_chain_of_64(chain_of: Callable[[int], Chain]) -> None:
    """In NSH all of them; in TCP and UDP as many as fit."""
    chain = chain_of(64)
    chain.start("--period-ms", "0", "--carrier", "auto")
    names = ["nsh/md2/ipv4/tcp", "gpe4-set/md2/ipv6/udp", "ipv4/tcp", "ipv4/udp-odd"]
    for name in names:
        seen = chain.exchange(FRAMES[name])
        assert seen.received == [FRAMES[name]], name
        for number, frames in enumerate(seen.between, 1):
            assert packet.strip(frames[0]) == FRAMES[name], (name, number)
    in_nsh, in_tunnel, in_tcp, in_udp = chain.sink.samples(len(names))
    for sample, hops in ((in_nsh, 64), (in_tunnel, 64), (in_tcp, 9), (in_udp, 62)):
        assert [hop.vnf_id for hop in sample.hops] == list(range(1, hops + 1))
        assert ("truncated" in sample.flags) == (hops < 64)
    for sample in (in_nsh, in_tunnel):
        assert sample.end_to_end_us is not None
        assert sum(hop.value for hop in sample.hops) <= sample.end_to_end_us + 64


def test_nsh_values_are_right_to_the_precision_of_the_float(
    chain_of: Callable[[int], Chain],
) -> None:
    """63 hops that the model wrote, of all magnitudes, and the sink's own."""
    chain = chain_of(1)
    chain.start(modes=["sink"])
    values = [0, 1, 4095, 4096, 4097, 8191, 65535, 65536, 99999, 1_000_000, 16_000_000, *range(52)]
    hops = tuple(Hop(100 + n, value) for n, value in enumerate(values))
    frame = FRAMES["nsh/md2/ipv4/tcp"]
    carried = packet.add(frame, Header(hops, sample=9), Format.PAPER, packet.Carrier.NSH)
    assert chain.exchange(carried).received == [frame]
    [sample] = chain.sink.samples(1)
    assert [hop.vnf_id for hop in sample.hops] == [*reversed([hop.vnf_id for hop in hops]), 1]
    seen = [hop.value for hop in reversed(sample.hops[:-1])]
    assert seen == [decode_float(encode_float(value)) for value in values]
    for value, wanted in zip(seen, values, strict=True):
        assert abs(value - wanted) <= wanted * 2**-12
    assert sample.sample == 9


@pytest.mark.gate_runs(2)
@pytest.mark.parametrize("there", [38, 39, 40, 63, 64, 65, 66])
def test_nsh_at_the_seams_of_context_headers(chain_of: Callable[[int], Chain], there: int) -> None:
    """39 hops fill a context header; 252 bytes the whole of NSH."""
    chain = chain_of(2)
    chain.start(modes=["transit", "sink"])
    before = tuple(Hop(n % 256, n) for n in range(there, 0, -1))
    frame = FRAMES["nsh/md2/ipv4/tcp"]
    seen = chain.exchange(packet.add(frame, Header(before), Format.PAPER, packet.Carrier.NSH))
    found = packet.read(seen.between[0][0])
    assert found is not None
    assert found.header.hops[-there:] == before
    assert found.header.hops[0].vnf_id == 1 or found.header.truncated
    assert seen.received == [frame]
    [sample] = chain.sink.samples(1)
    assert [hop.vnf_id for hop in sample.hops[:there]] == [n % 256 for n in range(1, there + 1)]
    assert len(sample.hops) == there + 2 or "truncated" in sample.flags
    assert there + 2 > 65 or "truncated" not in sample.flags


def test_contexts_of_others_leave_less_room(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(2)
    chain.start(modes=["transit", "sink"])
    frame = FRAMES["nsh/md2-others/ipv4/tcp"]
    bytes_of_others = sum(len(context.encode()) for context in OTHER_CONTEXTS)
    # What is left of 244 bytes, in two context headers of which the second is full.
    there = 39 + (244 - bytes_of_others - 132 - 12) // 3
    before = tuple(Hop(n, n) for n in range(there, 0, -1))
    seen = chain.exchange(packet.add(frame, Header(before), Format.PAPER, packet.Carrier.NSH))
    assert seen.received == [frame]
    [sample] = chain.sink.samples(1)
    assert (len(sample.hops), sample.flags) == (there, {"truncated"})


@pytest.mark.parametrize("narrow", [2, 3], ids=["transit", "sink"])
def test_no_packet_is_lost_for_being_measured(chain_of: Callable[..., Chain], narrow: int) -> None:
    """A packet that would fit a VNF's egress without its header does so with it.

    The narrow VNF takes the header out on its ingress; the sink reports what it found.
    """
    chain = chain_of(3, mtu=2000)
    egress = chain.ports[narrow - 1][1]
    chain.vnfs.run(["ip", "link", "set", egress.interface, "mtu", "1500"], timeout_s=10)
    chain.start("--period-ms", "0", "--format", "rfc")
    for name, frame in FULL.items():
        assert len(frame) == 1514
        seen = chain.exchange(frame)
        assert seen.received == [frame], name
        assert packet.read(seen.between[0][0]) is not None, name
        assert (packet.read(seen.between[1][0]) is None) == (narrow == 2), name
    samples = chain.sink.samples(len(FULL) if narrow == 3 else 0)
    assert [([hop.vnf_id for hop in one.hops], one.flags) for one in samples] == (
        [([1, 2], {"truncated"})] * len(FULL) if narrow == 3 else []
    )
    assert chain.pptmons[narrow - 1].counters()["truncated"] == len(FULL)


def test_a_hop_that_does_not_fit_the_mtu_is_said(chain_of: Callable[[int], Chain]) -> None:
    """The source finds room for one hop, the second VNF none."""
    chain = chain_of(2)
    chain.start("--period-ms", "0")
    frame = finished(ethernet() / network(4) / tcp(data=bytes(1500 - 40 - 8 - 2)))
    seen = chain.exchange(frame)
    assert seen.received == [frame]
    [sample] = chain.sink.samples(1)
    assert ([hop.vnf_id for hop in sample.hops], sample.flags) == ([1], {"truncated"})
    assert chain.sink.counters()["truncated"] == 1
