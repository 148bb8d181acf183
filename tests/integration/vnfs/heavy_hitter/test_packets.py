"""heavy_hitter behind a veth: it forwards, blocks at the threshold, and lists what it found."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
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


def started(lab: Lab, *, vcpus: tuple[int, ...] = (), **knobs: Any) -> Bench:
    """With a veth to its SFF."""
    compiled(BINARY)
    vcpus = vcpus or (min(os.sched_getaffinity(0)),)
    knobs = {"window_s": 60, "threshold": 10} | knobs
    made = started_behind_sff(lab, HeavyHitter, "hh-1", knobs, vcpus=vcpus)
    assert isinstance(made.function, RunningHeavyHitter)
    return made


@pytest.fixture(scope="module", params=["swx", "native", "af_xdp"])
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """Each engine, and the other way to the interface."""
    knobs = {"engine": request.param}
    if request.param == "af_xdp":
        knobs = {"engine": "native", "io": "af_xdp"}
    with Lab(tmp_path_factory.mktemp("heavy-hitter")) as lab:
        yield started(lab, **knobs)


@pytest.fixture
def bench(shared: Bench) -> Bench:
    """At the beginning of a window, without frames of the test before. Flows that were heavy stay
    blocked: tests have their own."""
    exchanged(shared)
    window(shared)
    return shared


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


@pytest.mark.parametrize(("encapsulation", "port"), [("nsh-eth", 9), ("nsh-vxlan-gpe", 10)])
def test_exactly_the_threshold_passes(bench: Bench, encapsulation: str, port: int) -> None:
    background = [through(bench, udp(port), encapsulation) for port in range(2000, 2020)]
    heavy = through(bench, udp(port), encapsulation)
    before = bench.function.counters()
    answers = exchanged(bench, *(frame for other in background for frame in (heavy, other)))
    ports = Counter(Ether(answer)[NSH].payload[UDP].sport for answer in answers)
    assert ports == {port: 10, **dict.fromkeys(range(2000, 2020), 1)}
    after = bench.counted(lambda now: now["received"] == before["received"] + 42)
    names = ("dropped_blocked", "dropped", "counted", "unmonitored")
    assert [after[name] - before[name] for name in names] == [10, 10, 30, 2]


def test_lists_heavy_hitters_of_a_window(bench: Bench) -> None:
    six = IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=7, dport=8)
    nsh = NSH(spi=1, si=9, nextproto=2, context_header=bytes(16))
    exchanged(bench, *[through(bench, udp(11))] * 30, *[bytes(bench.from_sff(nsh / six))] * 12)
    first = window(bench)
    assert (first.packets, first.unparsed, first.missing_flows) == (42, {"not_monitored": 2}, 0)
    listed = {flow.source_address: flow for flow in first.flows}
    assert set(listed) == {"10.0.0.1", "fd00::1"}
    flow = listed["10.0.0.1"]
    assert (flow.protocol, flow.source_port, flow.destination_port) == (17, 11, 80)
    assert (flow.packets, flow.certainty) == (10, "at most")
    bench.exchange(through(bench, udp(12)))
    second = window(bench)
    assert (second.packets, second.flows) == (1, ())
    assert second.start_ns == first.end_ns


def test_reports_alone_let_everything_pass(lab: Lab) -> None:
    bench = started(lab, action="report")
    assert len(exchanged(bench, *[through(bench, udp(9))] * 30)) == 30
    [flow] = window(bench).flows
    assert flow.packets == 30


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("engine", ["swx", "native"])
def test_flows_for_which_the_table_has_no_room_are_listed_once(lab: Lab, engine: str) -> None:
    bench = started(lab, engine=engine, action="report", threshold=1, flows=64)
    exchanged(bench, *[through(bench, udp(port)) for port in range(2000, 2300)] * 4)
    listed = Counter(flow.source_port for flow in window(bench).flows)
    assert listed == dict.fromkeys(range(2000, 2300), 1)


def test_counts_begin_again_with_a_window(bench: Bench) -> None:
    for _ in range(3):
        assert len(exchanged(bench, *[through(bench, udp(13))] * 10)) == 10
        assert not window(bench).flows


WRONG = {"si_zero": (7, 0), "si_exhausted": (7, 1), "md_type": (2, 3), "version": (0, 0x4F)}


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_drops_and_counts(bench: Bench, encapsulation: str) -> None:
    good = through(bench, udp(), encapsulation)
    start = 14 if encapsulation == "nsh-eth" else 50
    before = bench.function.counters()
    for at, value in WRONG.values():
        wrong = bytearray(good)
        wrong[start + at] = value
        assert bench.exchange(bytes(wrong)) == []
    after = bench.counted(lambda now: now["received"] == before["received"] + 2 * len(WRONG))
    assert {after[f"dropped_{reason}"] - before[f"dropped_{reason}"] for reason in WRONG} == {1}


@pytest.mark.parametrize("shared", ["swx", "native"], indirect=True)
def test_leaves_other_frames_to_the_kernel(bench: Bench) -> None:
    who_has = ARP(psrc=SFF_ADDRESS, pdst=SF_ADDRESS, hwsrc=bench.sff.mac)
    answers = bench.exchange(bytes(bench.frame(who_has, dst="ff:ff:ff:ff:ff:ff")))
    answers = answers or bench.exchange()
    assert [Ether(answer)[ARP].hwsrc for answer in answers] == [bench.sf.mac]


def test_is_silent_about_tunnelled_packets(lab: Lab) -> None:
    good = NSH(spi=42, si=255, nextproto=1, context_header=bytes(16)) / udp()
    started(lab, threshold=1000).check_silence(good)


@pytest.mark.parametrize("engine", ["swx", "native"])
def test_each_flow_is_counted_by_one_thread(lab: Lab, engine: str) -> None:
    """With several threads, thresholds are as exact as with one."""
    cpus = sorted(os.sched_getaffinity(0))
    bench = started(lab, engine=engine, vcpus=tuple(cpus[:2]) * (3 - min(len(cpus), 2)))
    frames = [through(bench, udp(port)) for port in range(3000, 3064)]
    bench.wire.send([frame for _ in range(15) for frame in frames])
    counters = bench.counted(lambda now: now["received"] == 15 * 64)
    assert (counters["forwarded"], counters["dropped_blocked"]) == (10 * 64, 5 * 64)
    shares = [counters[f"forwarded_worker{number}"] for number in range(2)]
    assert sum(shares) == 640
    assert min(shares) > 160
    assert len(window(bench).flows) == 64
