"""sfc-heavy-hitter with vhost-user: DPDK's testpmd hands on what comes over a veth."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from support.needs import compiled
from support.network.wires import Lab, Port, eventually
from support.vnfs.forwarder_bench import Bench

from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Process
from sfcperf.hosts.namespace import LocalHost
from sfcperf.vnfs.heavy_hitter.compile import SPEC
from sfcperf.vnfs.heavy_hitter.running import BINARY, RunningHeavyHitter

pytestmark = pytest.mark.root

TESTPMD = "dpdk-testpmd"
THRESHOLD = 10


@dataclass
class OtherEnd:
    """testpmd between the socket and a veth."""

    port: Port
    socket: Path
    processes: list[Process] = field(default_factory=list)

    def start(self) -> None:
        """Connect."""
        cpus = sorted(os.sched_getaffinity(0))
        argv = [TESTPMD, "--no-huge", "-m", "128", "--no-pci", "--no-shconf", "--no-telemetry"]
        argv += ["--iova-mode=va", "--lcores", f"0@{cpus[0]},1@{cpus[-1]}"]
        argv += ["--vdev", f"net_af_packet0,iface={self.port.interface}"]
        argv += ["--vdev", f"net_vhost0,iface={self.socket},client=1"]
        # Without a terminal, it only stays for the sake of statistics.
        argv += ["--", "--forward-mode=io", "--no-mlockall", "--total-num-mbufs=16384"]
        self.processes.append(self.port.host.spawn([*argv, "--stats-period=60"]))

    def stop(self) -> None:
        """Disconnect."""
        if self.processes:
            self.processes.pop().stop()


@pytest.fixture(params=["swx", "native"])
def ends(request: pytest.FixtureRequest, lab: Lab) -> tuple[Bench, OtherEnd]:
    """Both, connected."""
    compiled(BINARY)
    if shutil.which(TESTPMD) is None:
        pytest.skip(f"{TESTPMD} is not installed: apt-get install dpdk-dev")
    sff, sf = lab.join((lab.host("sff"), "sff0"), (lab.host("sf"), "sf0"))
    socket = lab.outputs / "s"
    options = ["--engine", request.param, "--spec", str(SPEC), "--io", "vhost_user"]
    options += ["--interface", str(socket), "--threshold", str(THRESHOLD)]
    windows = lab.outputs / "windows.jsonl"
    function = RunningHeavyHitter.launch("hh-1", sf.host, options, THRESHOLD, windows)
    lab.at_end(function.stop)
    assert eventually(socket.exists)
    other = OtherEnd(sf, socket)
    lab.at_end(other.stop)
    other.start()
    function.wait_ready()
    wire = sff.wire()
    lab.at_end(wire.close)
    bench = Bench(function, wire, sff, sf)
    wait_connected(bench)
    return bench, other


def wait_connected(bench: Bench) -> None:
    """Until frames return."""
    frame = through(bench, 1, protocol=253)

    def returned() -> bool:
        bench.wire.send([frame])
        return bool(bench.wire.drain_some())

    assert eventually(returned)
    # What was sent meanwhile has returned when a sentinel has; twice, as below.
    bench.exchange()
    bench.exchange()


def through(bench: Bench, source_port: int, protocol: int = 17) -> bytes:
    """A frame as an SFF sends it."""
    packet = IP(src="10.0.0.1", dst="10.1.0.1", proto=protocol)
    nsh = NSH(spi=42, si=255, nextproto=1, context_header=bytes(16))
    datagram = UDP(sport=source_port, dport=80) / Raw(b"x" * 20)
    return bytes(bench.from_sff(nsh / packet / datagram))


def heavy_and_others(bench: Bench, heavy: int) -> Counter[int]:
    """Source ports of what comes back, of a flow of 20 packets and 20 flows of one."""
    others = range(heavy + 1, heavy + 21)
    frames = [through(bench, port) for other in others for port in (heavy, other)]
    # In the P4 pipeline, frames that wait for a table are overtaken.
    answers = bench.exchange(*frames) + bench.exchange()
    return Counter(Ether(answer)[NSH].payload[UDP].sport for answer in answers)


def test_forwards_and_blocks(ends: tuple[Bench, OtherEnd]) -> None:
    bench, _ = ends
    [answer] = bench.exchange(through(bench, 1024))
    seen = Ether(answer)
    assert (seen.src, seen.dst) == (bench.sf.mac, bench.sff.mac)
    assert (seen[NSH].spi, seen[NSH].si) == (42, 254)
    assert heavy_and_others(bench, 2000) == {2000: THRESHOLD, **dict.fromkeys(range(2001, 2021), 1)}
    counters = bench.counted(lambda now: now["dropped_blocked"] == 20 - THRESHOLD)
    assert counters["dropped"] == 20 - THRESHOLD


@pytest.mark.exhaustive
def test_other_end_may_come_again(ends: tuple[Bench, OtherEnd]) -> None:
    """Counts go on."""
    bench, other = ends
    heavy_and_others(bench, 2000)
    other.stop()
    other.start()
    wait_connected(bench)
    assert heavy_and_others(bench, 2000) == dict.fromkeys(range(2001, 2021), 1)
    assert heavy_and_others(bench, 3000)[3000] == THRESHOLD


@pytest.mark.gate_runs(1)
def test_a_window_ends_when_asked(ends: tuple[Bench, OtherEnd]) -> None:
    """It was given no length."""
    bench, _ = ends
    heavy_and_others(bench, 2000)
    assert isinstance(bench.function, RunningHeavyHitter)
    [flow] = bench.function.flows().end_window()[-1].flows
    assert (flow.source_port, flow.packets) == (2000, THRESHOLD)
    assert heavy_and_others(bench, 3000)[3000] == THRESHOLD
    [flow] = bench.function.flows().end_window()[-1].flows
    assert (flow.source_port, flow.packets) == (3000, THRESHOLD)


def launched(folder: Path, socket: Path) -> RunningHeavyHitter:
    """One to which nobody connects."""
    compiled(BINARY)
    options = ["--engine", "native", "--io", "vhost_user", "--interface", str(socket)]
    return RunningHeavyHitter.launch("hh", LocalHost(folder), options, 1, folder / "windows")


def test_ends_before_anybody_connects(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    function = launched(tmp_path, socket)
    try:
        assert eventually(socket.exists)
    finally:
        function.stop()
    assert function.problem() == f"{BINARY} has ended with status 0"
    assert not socket.exists()


@pytest.mark.parametrize(("name", "why"), [("there", "exists"), ("x" * 108, "108 characters")])
def test_says_what_is_wrong_with_a_path(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "there").touch()
    with pytest.raises(DeploymentError, match=why):
        launched(tmp_path, tmp_path / name).wait_ready()
    assert (tmp_path / "there").exists()
