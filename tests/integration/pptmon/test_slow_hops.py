"""Times that are known, because the test itself is the VNF: short, long, too long, out of order."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from support.network.wires import Lab
from support.pptmon.bench import Chain
from support.pptmon.held import TUN, HeldVnf
from support.pptmon.zoo import FRAMES
from support.pptmon_model import packet
from support.pptmon_model.value import VALUE_MAX

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not TUN.exists(), reason=f"{TUN} is missing: modprobe tun"),
]

NAMES = ["ipv4/tcp", "ipv6/udp-odd", "nsh/md2/ipv4/tcp", "gpe4-set/md1/ipv4/tcp"]


@pytest.fixture
def held(lab: Lab, chain_of: Callable[[int], Chain]) -> Callable[[int], tuple[Chain, HeldVnf]]:
    """A chain whose first VNF is the test."""

    def make(count: int) -> tuple[Chain, HeldVnf]:
        chain = chain_of(count)
        return chain, HeldVnf(lab, chain)

    return make


def take_all(chain: Chain, vnf: HeldVnf, names: list[str]) -> list[tuple[float, bytes]]:
    """Frames inside the VNF, and a time before which each had entered."""
    taken = []
    for name in names:
        chain.sender.send(FRAMES[name])
        taken.append((time.monotonic(), vnf.take()))
    return taken


def test_times_are_those_for_which_packets_were_held(
    held: Callable[[int], tuple[Chain, HeldVnf]],
) -> None:
    """In order and backwards; longer than the 16 bits of a clock that NSH has room for, too."""
    chain, vnf = held(1)
    chain.start("--period-ms", "0", "--format", "rfc")
    for held_s, order in itertools.product((0.0, 0.01, 0.3), (1, -1)):
        before = len(chain.sink.samples())
        sent = time.monotonic()
        taken = take_all(chain, vnf, NAMES)
        time.sleep(held_s)
        at_least = []
        for entered, frame in taken[::order]:
            at_least.append(time.monotonic() - entered)
            vnf.let_out(frame)
        at_most = time.monotonic() - sent + 0.1
        samples = chain.sink.samples(before + len(NAMES))[before:]
        for least_s, sample in zip(at_least, samples, strict=True):
            assert sample.own_time_ns is not None
            # Rounded to microseconds, in NSH to 2^-12.
            value_us = sample.hops[0].value
            assert least_s * 1e6 * (1 - 2**-12) - 1 <= value_us <= at_most * 1e6
            assert abs(sample.own_time_ns / 1e3 - value_us) <= max(1, value_us * 2**-12)
            assert "saturated" not in sample.flags


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("name", ["ipv4/udp", "nsh/md2/ipv4/tcp"])
def test_times_stay_right_while_others_are_measured(
    held: Callable[[int], tuple[Chain, HeldVnf]], name: str
) -> None:
    """Tens of thousands of packets come in while a few are held."""
    chain, vnf = held(1)
    chain.start("--period-ms", "0", "--format", "rfc")
    began = time.monotonic()
    taken = take_all(chain, vnf, [name] * 20)
    until = time.monotonic() + 0.7
    while time.monotonic() < until:
        chain.sender.send(*[FRAMES[name]] * 50)
    held_s = [time.monotonic() - entered for entered, _ in taken]
    for _, frame in taken:
        vnf.let_out(frame)
    most_s = time.monotonic() - began + 0.1
    for least_s, sample in zip(held_s, chain.sink.samples(20), strict=True):
        assert least_s * 1e6 * (1 - 2**-12) - 1 <= sample.hops[0].value <= most_s * 1e6


def test_a_packet_that_leaves_twice_is_two_samples(
    held: Callable[[int], tuple[Chain, HeldVnf]],
) -> None:
    """And one that never leaves is none."""
    chain, vnf = held(1)
    chain.start("--period-ms", "0")
    chain.sender.send(FRAMES["ipv4/tcp"], FRAMES["ipv4/udp"])
    lost, doubled = vnf.take(), vnf.take()
    assert lost != doubled
    vnf.let_out(doubled)
    vnf.let_out(doubled)
    samples = chain.sink.samples(2)
    assert len(samples) == 2
    assert {sample.flow and sample.flow.proto for sample in samples} == {"udp"}
    counters = chain.source.counters()
    assert (counters["sampled"], counters["reported"]) == (2, 2)


def test_a_hop_from_before_pptmon_was_there_is_no_time(
    held: Callable[[int], tuple[Chain, HeldVnf]],
) -> None:
    """Whatever it holds for now is not taken for microseconds."""
    chain, vnf = held(1)
    chain.start("--period-ms", "0", "--format", "rfc")
    taken = take_all(chain, vnf, NAMES)
    chain.source.kill()
    chain.start("--period-ms", "0", "--format", "rfc")
    for _, frame in taken:
        vnf.let_out(frame)
    for sample in chain.sink.samples(len(NAMES)):
        assert [hop.value for hop in sample.hops] == [VALUE_MAX]
        assert (sample.flags, sample.own_time_ns) == ({"saturated"}, None)
    counters = chain.sink.counters()
    found = (counters["foreign"], counters["measured"], counters["reported"])
    assert found == (len(NAMES), 0, len(NAMES))


def test_a_vnf_that_rewrites_addresses_is_measured_all_the_same(
    held: Callable[[int], tuple[Chain, HeldVnf]],
) -> None:
    """NAT: the flow is as it left; checksums stay right with what the NAT did to them."""
    chain, vnf = held(1)
    chain.start("--period-ms", "0")
    chain.sender.send(FRAMES["ipv4/tcp"])
    translated = Ether(vnf.take())
    translated[IP].src, translated[TCP].sport = "203.0.113.7", 1234
    del translated[IP].chksum, translated[TCP].chksum
    vnf.let_out(bytes(translated))
    [sample] = chain.sink.samples(1)
    assert sample.flow is not None
    assert (sample.flow.src, sample.flow.sport) == ("203.0.113.7", 1234)
    wanted = Ether(FRAMES["ipv4/tcp"])
    wanted[IP].src, wanted[TCP].sport = "203.0.113.7", 1234
    del wanted[IP].chksum, wanted[TCP].chksum
    assert chain.exchange_out(vnf.let_out) == [bytes(wanted)]


def test_a_vnf_that_removes_the_header_ends_the_sample(
    held: Callable[[int], tuple[Chain, HeldVnf]],
) -> None:
    """As a proxy does that makes packets anew (the paper's section IV-F)."""
    chain, vnf = held(1)
    chain.start("--period-ms", "0")
    chain.sender.send(FRAMES["ipv4/tcp"])
    vnf.let_out(packet.strip(vnf.take()))
    assert chain.exchange_out(vnf.let_out) == [FRAMES["ipv4/tcp"]]
    assert chain.sink.samples() == []
    assert chain.source.counters()["malformed"] == 0


@pytest.mark.exhaustive
def test_slower_than_24_bits_of_microseconds(
    held: Callable[[int], tuple[Chain, HeldVnf]],
) -> None:
    """16.8 s: the value is the largest, and flagged; a wrap would give a small one."""
    chain, vnf = held(2)
    chain.start("--period-ms", "0", "--format", "rfc")
    taken = take_all(chain, vnf, NAMES)
    time.sleep(17)
    for _, frame in taken:
        vnf.let_out(frame)
    samples = chain.sink.samples(len(NAMES))
    assert len(samples) == len(NAMES)
    for sample in samples:
        assert [hop.vnf_id for hop in sample.hops] == [1, 2]
        assert sample.hops[0].value == VALUE_MAX
        assert sample.hops[1].value < 1_000_000
        assert "saturated" in sample.flags
    assert chain.source.counters()["saturated"] == len(NAMES)
    assert chain.exchange_out(vnf.let_out) == [FRAMES[name] for name in NAMES]
