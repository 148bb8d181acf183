"""heavy_hitter behind a veth: it forwards, blocks at the threshold, and lists what it found."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.needs import compiled
from support.network.wires import Lab
from support.vnfs.attached import started_behind_sff
from support.vnfs.forwarder_bench import SF_ADDRESS, SFF_ADDRESS, Bench

from sfcperf.management.deployment import FlowWindow
from sfcperf.vnfs.heavy_hitter.function import HeavyHitter
from sfcperf.vnfs.heavy_hitter.running import BINARY, RunningHeavyHitter

pytestmark = pytest.mark.root

ENCAPSULATIONS = ["nsh-eth", "nsh-vxlan-gpe"]
MakeBench = Callable[..., Bench]


@pytest.fixture
def make_bench(lab: Lab) -> MakeBench:
    """Start one with a veth to its SFF."""
    compiled(BINARY)

    def make(*, vcpus: tuple[int, ...] = (), **knobs: Any) -> Bench:
        vcpus = vcpus or (min(os.sched_getaffinity(0)),)
        knobs = {"window_s": 60} | knobs
        made = started_behind_sff(lab, HeavyHitter, "hh-1", knobs, vcpus=vcpus)
        assert isinstance(made.function, RunningHeavyHitter)
        return made

    return make


@pytest.fixture(params=["swx", "native", "af_xdp"])
def bench(request: pytest.FixtureRequest, make_bench: MakeBench) -> Bench:
    """Each engine, and the other way to the interface."""
    if request.param == "af_xdp":
        return make_bench(engine="native", io="af_xdp", threshold=10)
    return make_bench(engine=request.param, threshold=10)


def udp(source_port: int = 1024, source: str = "10.0.0.1") -> Packet:
    return IP(src=source, dst="10.1.0.1") / UDP(sport=source_port, dport=80) / Raw(b"x" * 20)


def through(bench: Bench, packet: Packet, encapsulation: str = "nsh-eth", si: int = 255) -> bytes:
    """A frame as an SFF sends it."""
    nsh = NSH(spi=42, si=si, nextproto=1, context_header=bytes(16)) / packet
    return bytes(bench.from_sff(nsh, encapsulation))


def exchanged(bench: Bench, *frames: bytes) -> list[bytes]:
    """All that comes back: in the P4 pipeline, frames that wait for a table are overtaken."""
    return bench.exchange(*frames) + bench.exchange()


def window(bench: Bench) -> FlowWindow:
    """Ends the one that goes on."""
    assert isinstance(bench.function, RunningHeavyHitter)
    return bench.function.flows().end_window()[-1]


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_returns_packets_with_the_si_decremented(bench: Bench, encapsulation: str) -> None:
    [answer] = bench.exchange(through(bench, udp(), encapsulation))
    seen = Ether(answer)
    assert (seen.src, seen.dst) == (bench.sf.mac, bench.sff.mac)
    assert (seen[NSH].spi, seen[NSH].si) == (42, 254)
    assert bytes(seen[NSH].payload) == bytes(udp())
    if encapsulation == "nsh-vxlan-gpe":
        assert (seen[IP].src, seen[IP].dst) == (SF_ADDRESS, SFF_ADDRESS)
        assert (seen[UDP].sport, seen[UDP].dport, seen[UDP].chksum) == (50000, 4790, 0)


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_exactly_the_threshold_passes(bench: Bench, encapsulation: str) -> None:
    background = [through(bench, udp(port), encapsulation) for port in range(2000, 2020)]
    heavy = through(bench, udp(9), encapsulation)
    answers = exchanged(bench, *(frame for other in background for frame in (heavy, other)))
    ports = Counter(Ether(answer)[NSH].payload[UDP].sport for answer in answers)
    assert ports == {9: 10, **dict.fromkeys(range(2000, 2020), 1)}
    counters = bench.counted(lambda now: now["received"] == 42)
    assert (counters["dropped_blocked"], counters["dropped"]) == (10, 10)
    assert (counters["counted"], counters["unmonitored"]) == (30, 2)


def test_lists_heavy_hitters_of_a_window(bench: Bench) -> None:
    six = IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=7, dport=8)
    nsh = NSH(spi=1, si=9, nextproto=2, context_header=bytes(16))
    exchanged(bench, *[through(bench, udp(9))] * 30, *[bytes(bench.from_sff(nsh / six))] * 12)
    first = window(bench)
    assert (first.packets, first.unparsed, first.missing_flows) == (42, {"not_monitored": 2}, 0)
    listed = {flow.source_address: flow for flow in first.flows}
    assert set(listed) == {"10.0.0.1", "fd00::1"}
    flow = listed["10.0.0.1"]
    assert (flow.protocol, flow.source_port, flow.destination_port) == (17, 9, 80)
    assert (flow.packets, flow.certainty) == (10, "at most")
    bench.exchange(through(bench, udp(10)))
    second = window(bench)
    assert (second.packets, second.flows) == (1, ())
    assert second.start_ns == first.end_ns


def test_reports_alone_let_everything_pass(make_bench: MakeBench) -> None:
    bench = make_bench(action="report", threshold=10)
    assert len(exchanged(bench, *[through(bench, udp(9))] * 30)) == 30
    [flow] = window(bench).flows
    assert flow.packets == 30


def test_counts_begin_again_with_a_window(make_bench: MakeBench) -> None:
    bench = make_bench(threshold=10)
    for _ in range(3):
        assert len(exchanged(bench, *[through(bench, udp(9))] * 10)) == 10
        assert not window(bench).flows


WRONG = {"si_zero": (7, 0), "si_exhausted": (7, 1), "md_type": (2, 3), "version": (0, 0x4F)}


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_drops_and_counts(bench: Bench, encapsulation: str) -> None:
    good = through(bench, udp(), encapsulation)
    start = 14 if encapsulation == "nsh-eth" else 50
    for at, value in WRONG.values():
        wrong = bytearray(good)
        wrong[start + at] = value
        assert bench.exchange(bytes(wrong)) == []
    counters = bench.counted(lambda now: now["received"] == 2 * len(WRONG))
    assert all(counters[f"dropped_{reason}"] == 1 for reason in WRONG)


@pytest.mark.parametrize("engine", ["swx", "native"])
def test_leaves_other_frames_to_the_kernel(make_bench: MakeBench, engine: str) -> None:
    bench = make_bench(engine=engine)
    who_has = ARP(psrc=SFF_ADDRESS, pdst=SF_ADDRESS, hwsrc=bench.sff.mac)
    answers = bench.exchange(bytes(bench.frame(who_has, dst="ff:ff:ff:ff:ff:ff")))
    answers = answers or bench.exchange()
    assert [Ether(answer)[ARP].hwsrc for answer in answers] == [bench.sf.mac]


def test_is_silent_about_tunnelled_packets(make_bench: MakeBench) -> None:
    good = NSH(spi=42, si=255, nextproto=1, context_header=bytes(16)) / udp()
    make_bench().check_silence(good)


@pytest.mark.parametrize("engine", ["swx", "native"])
def test_each_flow_is_counted_by_one_thread(make_bench: MakeBench, engine: str) -> None:
    """With several threads, thresholds are as exact as with one."""
    cpus = sorted(os.sched_getaffinity(0))
    bench = make_bench(engine=engine, threshold=10, vcpus=tuple(cpus[:2]) * (3 - min(len(cpus), 2)))
    frames = [through(bench, udp(port)) for port in range(3000, 3064)]
    bench.wire.send([frame for _ in range(15) for frame in frames])
    counters = bench.counted(lambda now: now["received"] == 15 * 64)
    assert (counters["forwarded"], counters["dropped_blocked"]) == (10 * 64, 5 * 64)
    shares = [counters[f"forwarded_worker{number}"] for number in range(2)]
    assert sum(shares) == 640
    assert min(shares) > 160
    assert len(window(bench).flows) == 64
