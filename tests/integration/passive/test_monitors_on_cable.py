"""Monitors over real interfaces and processes; judged by scapy, `ip` and the kernel."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import SERVER, Cable, ended, processes_in
from support.probing import made, of

from sfcperf.errors import MeasurementError
from sfcperf.passive.cpu import CpuMonitor
from sfcperf.passive.interfaces import InterfaceMonitor
from sfcperf.passive.memory import MemoryMonitor
from sfcperf.passive.processes import ProcessMonitor
from sfcperf.passive.tcpdump import TcpdumpMonitor
from sfcperf.results.values import Observation

pytestmark = pytest.mark.root
FRAME_BYTES = 14 + 20 + 8 + 56


@pytest.fixture
def busy() -> Iterator[int]:
    """A process that computes."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        yield process.pid
        process.kill()


def ping(wire: Cable, count: int = 10, interval_s: float = 0.01) -> None:
    argv = ["ping", "-n", "-q", "-c", str(count), "-i", str(interval_s), SERVER]
    wire.deployment.client.host.run(argv, timeout_s=30)


def cost(observations: Sequence[Observation]) -> float:
    (value,) = (o.value for o in observations if o.metric == "monitor_cpu_s")
    return value


def test_cpu_memory_processes_of_a_busy_process(wire: Cable, tmp_path: Path, busy: int) -> None:
    wire.meter.watched.append(busy)
    monitors = [made(kind, interval_s=0.1) for kind in (CpuMonitor, MemoryMonitor, ProcessMonitor)]
    for monitor in monitors:
        monitor.start(wire.deployment, tmp_path)
    ping(wire, 20, 0.05)
    cpu, memory, processes = (monitor.stop() for monitor in monitors)
    cores = of(cpu, "sff@node1", "cpu_cores")
    assert len(cores) >= 4
    assert 0.05 < sum(cores) / len(cores) < 1.2
    assert min(of(memory, "sff@node1", "memory_bytes")) > 10_000
    shown = of(processes, f"sff@node1/sh[{busy}]", "process_cpu_cores")
    assert len(shown) >= 4
    assert 0.05 < sum(shown) / len(shown) < 1.2
    for observations in (cpu, memory, processes):
        assert 0 < cost(observations) < 5
        assert [o.time_ns for o in observations] == sorted(o.time_ns for o in observations)


def test_interfaces_agree_with_ip(wire: Cable, tmp_path: Path) -> None:
    def kernel(hop: str) -> dict[str, Any]:
        argv = ["ip", "-j", "-s", "-n", wire.spaces["middle"], "link", "show", f"{hop}0"]
        shown = subprocess.run(argv, check=True, capture_output=True, timeout=10)
        statistics: dict[str, Any] = json.loads(shown.stdout)[0]["stats64"]
        return statistics

    ping(wire, 1)  # ARP is done: what follows is echo alone
    before = {hop: kernel(hop) for hop in ("client", "server")}
    monitor = made(InterfaceMonitor, interval_s=0.1)
    monitor.start(wire.deployment, tmp_path)
    ping(wire, 50, 0.01)
    observations = monitor.stop()
    for hop in ("client", "server"):
        after = kernel(hop)
        for way in ("rx", "tx"):
            for ours, theirs in (("packets", "packets"), ("bytes", "bytes"), ("drops", "dropped")):
                (total,) = of(observations, hop, f"{way}_{ours}_total")
                assert total == after[way][theirs] - before[hop][way][theirs]
                assert sum(of(observations, hop, f"{way}_{ours}")) == total
            assert max(of(observations, hop, f"{way}_pps")) > 10
    assert of(observations, "client", "rx_packets_total")[0] >= 50
    assert 0 < cost(observations) < 5


def test_a_monitor_outlives_an_interface(wire: Cable, tmp_path: Path) -> None:
    monitor = made(InterfaceMonitor, interval_s=0.02)
    monitor.start(wire.deployment, tmp_path)
    argv = ["ip", "-n", wire.spaces["middle"], "link", "delete", "server0"]
    subprocess.run(argv, check=True, timeout=10)
    observations = monitor.stop()
    assert of(observations, "interfaces", "monitor_errors")[0] >= 1
    errors = (tmp_path / "monitor-interfaces-errors.txt").read_text()
    assert "has no interface server0" in errors


def test_tcpdump_holds_every_packet(wire: Cable, tmp_path: Path) -> None:
    from scapy.layers.inet import ICMP
    from scapy.utils import RawPcapReader, rdpcap

    monitor = made(TcpdumpMonitor, filter=["icmp[icmptype]", "==", "icmp-echo"], snaplen=60)
    monitor.start(wire.deployment, tmp_path)
    ping(wire, 25)
    observations = monitor.stop()
    for hop in ("client", "server"):
        pcap = str(tmp_path / f"tcpdump-{hop}.pcap")
        assert [packet[ICMP].seq for packet in rdpcap(pcap)] == list(range(1, 26))
        with RawPcapReader(pcap) as records:
            lengths = [(len(data), meta.wirelen) for data, meta in records]
        assert {wirelen for _, wirelen in lengths} == {FRAME_BYTES}
        assert {60 <= kept <= 76 for kept, _ in lengths} == {True}
        assert of(observations, hop, "captured_packets") == [25]
        assert of(observations, hop, "capture_dropped_packets") == [0]
        assert of(observations, hop, "capture_bound_reached") == [0]
        size = (tmp_path / f"tcpdump-{hop}.pcap").stat().st_size
        assert of(observations, hop, "capture_bytes") == [size]
    assert 0 < cost(observations) < 5
    assert not processes_in(wire.spaces["middle"])


def test_a_tcpdump_that_is_behind_is_waited_for(wire: Cable, tmp_path: Path) -> None:
    """As on a busy machine: it does not run while packets come."""
    monitor = made(TcpdumpMonitor, hops=["client"], filter=["icmp"])
    monitor.start(wire.deployment, tmp_path)
    (pid,) = processes_in(wire.spaces["middle"])
    os.kill(pid, signal.SIGSTOP)
    ping(wire, 10)
    resumed = threading.Timer(0.3, os.kill, (pid, signal.SIGCONT))
    resumed.start()
    assert of(monitor.stop(), "client", "captured_packets") == [20]
    resumed.join()


def test_tcpdump_stops_at_its_bound_and_says_so(
    wire: Cable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monitor = made(TcpdumpMonitor, hops=["client"], max_bytes=1000, snaplen=128)
    monitor.start(wire.deployment, tmp_path)
    ping(wire, 30)
    observations = monitor.stop()
    assert of(observations, "client", "capture_bound_reached") == [1]
    assert (tmp_path / "tcpdump-client.pcap").stat().st_size <= 1000
    assert not (tmp_path / "tcpdump-server.pcap").exists()
    assert "max_bytes 1000" in caplog.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"filter": ["-w", "elsewhere.pcap"]}, "rejects the filter"),
        ({"filter": ["icmp; touch elsewhere.pcap"]}, "rejects the filter"),
        ({"hops": ["client", "nowhere"]}, "no hop named nowhere"),
        ({"max_bytes": 1000, "snaplen": 1500}, "does not hold one packet"),
    ],
)
def test_tcpdump_refuses_what_it_cannot_do(
    wire: Cable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monitor = made(TcpdumpMonitor, **given)
    with pytest.raises(MeasurementError, match=message):
        monitor.start(wire.deployment, tmp_path)
    assert not (tmp_path / "elsewhere.pcap").exists()
    assert not processes_in(wire.spaces["middle"])
    assert of(monitor.stop(), "client", "captured_packets") == []


def test_tcpdump_needs_a_hop(wire: Cable, tmp_path: Path) -> None:
    for given in ({}, {"hops": ["client"]}):
        with pytest.raises(MeasurementError, match="has no hops"):
            made(TcpdumpMonitor, **given).start(replace(wire.deployment, hops=()), tmp_path)


def test_a_killed_tcpdump_is_told(wire: Cable, tmp_path: Path) -> None:
    monitor = made(TcpdumpMonitor, hops=["client"])
    monitor.start(wire.deployment, tmp_path)
    (pid,) = processes_in(wire.spaces["middle"])
    os.kill(pid, 9)
    with pytest.raises(MeasurementError, match="did not say how many packets"):
        monitor.stop()
    assert ended(pid)
