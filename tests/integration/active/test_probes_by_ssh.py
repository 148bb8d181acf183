"""Probes and monitors on machines with nothing but busybox and dropbear, reached by SSH."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.network import ssh_servers
from support.network.ssh_servers import SshServer
from support.probing import of, values

from sfcperf.active.ab import Ab
from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.dns import Dns
from sfcperf.active.httperf import Httperf
from sfcperf.active.iperf3 import Iperf3
from sfcperf.active.ping import Ping
from sfcperf.active.pktgen import Pktgen
from sfcperf.hosts.carry import equip
from sfcperf.hosts.guest_meter import GuestMeter
from sfcperf.hosts.ssh import SshHost
from sfcperf.management.deployment import Deployment, Endpoint, Hop
from sfcperf.passive.base import Monitor
from sfcperf.passive.cpu import CpuMonitor
from sfcperf.passive.interfaces import InterfaceMonitor
from sfcperf.passive.memory import MemoryMonitor
from sfcperf.passive.processes import ProcessMonitor
from sfcperf.passive.tcpdump import TcpdumpMonitor
from sfcperf.results.values import Observation
from sfcperf.workflow.defaults import with_defaults

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(ssh_servers.lacking()), reason=ssh_servers.lacking()),
]
ADDRESSES = {"client": "198.18.7.1", "server": "198.18.7.2"}
INTERFACE = "data0"


@dataclass(frozen=True)
class Pair:
    """Two machines, joined by a cable beside those by which they are managed."""

    deployment: Deployment
    machines: dict[str, SshServer]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with ExitStack() as stack:
        machines, hosts = {}, {}
        for name in ADDRESSES:
            machine = stack.enter_context(ssh_servers.dropbear(tmp_path_factory.mktemp(name)))
            hosts[name] = SshHost(name, machine.access, Path("/tmp/sfcperf"))
            stack.callback(hosts[name].close)
            hosts[name].wait_reachable(20)
            machines[name] = machine
        _join(machines)
        ends = {
            name: Endpoint(name, "node1", hosts[name], address, INTERFACE, 1500)
            for name, address in ADDRESSES.items()
        }
        hops = tuple(Hop(name, host, INTERFACE, inside=True) for name, host in hosts.items())
        meters = {name: GuestMeter(host) for name, host in hosts.items()}
        yield Pair(
            Deployment("d", ends["client"], ends["server"], (), hops, meters, "none"), machines
        )


def _join(machines: dict[str, SshServer]) -> None:
    one, other = (machines[name].namespace for name in ADDRESSES)
    temporary = f"d{os.getpid()}"
    peer = ["type", "veth", "peer", "name", INTERFACE, "netns", other]
    _ip("-n", one, "link", "add", temporary, *peer)
    _ip("-n", one, "link", "set", temporary, "name", INTERFACE)
    for name, address in ADDRESSES.items():
        space = machines[name].namespace
        _ip("-n", space, "address", "add", f"{address}/24", "dev", INTERFACE)
        _ip("-n", space, "link", "set", INTERFACE, "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, timeout=10, capture_output=True)


def measure(pair: Pair, raw: Path, kind: type[Probe], **given: Any) -> ProbeResult:
    for end in (pair.deployment.client, pair.deployment.server):
        equip(end.host, kind.tools())
    probe = kind(with_defaults(kind.parameters, given))
    try:
        probe.prepare(pair.deployment, raw)
        return probe.measure(pair.deployment, raw)
    finally:
        probe.cleanup()


def running(pair: Pair, *commands: str) -> list[str]:
    """Processes of these commands in either machine, as seen from outside."""
    lines = [line for machine in pair.machines.values() for line in machine.processes()]
    return [line for line in lines if any(command in line for command in commands)]


def test_ping(pair: Pair, tmp_path: Path) -> None:
    result = measure(pair, tmp_path, Ping, count=10, interval_s=0.02)
    assert values(result)["loss_ratio"] == 0
    assert len(result.series["rtt_us"]) == 10
    assert 0 < values(result)["rtt_us"] < 1e6


@pytest.mark.parametrize("given", [{}, {"protocol": "udp", "rate_bps": 2_000_000}])
def test_iperf3(pair: Pair, tmp_path: Path, given: dict[str, Any]) -> None:
    result = measure(pair, tmp_path, Iperf3, duration_s=1, **given)
    assert values(result)["rate_bps"] > 1e6
    assert not running(pair, "iperf3")


def test_pktgen(pair: Pair, tmp_path: Path) -> None:
    """The other end of the client's veth has the receiver's program: it takes frames of XDP."""
    result = measure(pair, tmp_path, Pktgen, rate_pps=500, duration_s=0.5)
    assert (values(result)["loss_ratio"], result.notes["engine"]) == (0, "xdp")
    assert 0 < values(result)["latency_p50_us"] < 1e6
    assert not running(pair, "sfc-pktgen")


@pytest.mark.server
def test_httperf(pair: Pair, tmp_path: Path) -> None:
    result = measure(pair, tmp_path, Httperf, connections=4, duration_s=0.5, object_bytes=3000)
    assert values(result)["errors"] == 0
    assert values(result)["replies_per_s"] > 100
    assert "content 3000.0" in (tmp_path / "httperf.txt").read_text()
    assert not running(pair, "httperf", "nginx")


@pytest.mark.server
def test_ab(pair: Pair, tmp_path: Path) -> None:
    result = measure(pair, tmp_path, Ab, requests=1000, concurrency=4)
    seen = values(result)
    assert seen["errors"] == 0
    assert seen["request_time_median_us"] <= seen["request_time_max_us"]
    assert (tmp_path / "ab-percentiles.csv").exists()
    assert 0 <= result.notes["server_cpu_ratio"] < 1.5
    assert not running(pair, "nginx")


@pytest.mark.server
def test_dns(pair: Pair, tmp_path: Path) -> None:
    result = measure(pair, tmp_path, Dns, rate_per_s=200, duration_s=0.5)
    seen = values(result)
    assert (seen["loss_ratio"], seen["errors"], result.notes["queries"]) == (0, 0, 100)
    assert 0 < seen["response_time_median_us"] < 1e6
    assert not running(pair, "dnsperf", "dnsmasq")


def watch(pair: Pair, raw: Path, kind: type[Monitor], **given: Any) -> list[Observation]:
    """What a monitor sees of 30 echoes."""
    client = pair.deployment.client.host
    equip(client, ("ping", *kind.tools()))
    equip(pair.deployment.server.host, kind.tools())
    monitor = kind(with_defaults(kind.parameters, given))
    monitor.start(pair.deployment, raw)
    argv = ["ping", "-n", "-q", "-c", "30", "-i", "0.02", ADDRESSES["server"]]
    client.run(argv, timeout_s=30)
    return list(monitor.stop())


def test_cpu_memory_and_processes_of_a_whole_machine(pair: Pair, tmp_path: Path) -> None:
    client = pair.deployment.client.host
    busy = client.spawn(["sh", "-c", "while :; do :; done"])
    try:
        cpu = watch(pair, tmp_path, CpuMonitor, interval_s=0.1)
        memory = watch(pair, tmp_path, MemoryMonitor, interval_s=0.1)
        seen = watch(pair, tmp_path, ProcessMonitor, interval_s=0.1, top=3)
    finally:
        busy.stop()
    assert max(of(cpu, "client", "cpu_cores")) > 0.3
    assert min(of(memory, "client", "memory_bytes")) > 1e6
    assert max(of(seen, f"client/sh[{busy.pid}]", "process_cpu_cores")) > 0.1


def test_interfaces_are_told_as_the_sff_sees_them(pair: Pair, tmp_path: Path) -> None:
    seen = watch(pair, tmp_path, InterfaceMonitor, interval_s=0.1)
    assert not of(seen, "interfaces", "monitor_errors")
    # What comes out of the client is received by its SFF.
    assert of(seen, "client", "rx_packets_total")[0] >= 30
    assert of(seen, "client", "rx_bytes_total")[0] >= 30 * 98


def test_captures_come_here_whole(pair: Pair, tmp_path: Path) -> None:
    from scapy.utils import rdpcap

    seen = watch(pair, tmp_path, TcpdumpMonitor, hops=["server"], filter=["icmp"])
    assert of(seen, "server", "captured_packets") == [60]
    assert len(rdpcap(str(tmp_path / "tcpdump-server.pcap"))) == 60
    assert not running(pair, "tcpdump")
