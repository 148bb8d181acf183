"""Times inside a real router, judged by tcpdump and scapy, and by a known delay."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from support.network.cable import CLIENT, SERVER, Cable, processes_in
from support.pptmon.chain import function

from sfcperf.errors import MeasurementError
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Deployment
from sfcperf.passive.transit_time import TransitTimeMonitor
from sfcperf.results.values import Observation
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root


def routed(wire: Cable) -> Deployment:
    """The cable with its middle as VNF."""
    host = wire.deployment.hops[0].host
    assert isinstance(host, NamespaceHost)
    middle = function(1, host=host, interfaces=("client0", "server0"))
    return replace(wire.deployment, functions=(middle,))


def monitor(**given: Any) -> TransitTimeMonitor:
    return TransitTimeMonitor(with_defaults(TransitTimeMonitor.parameters, given))


def of(found: Sequence[Observation], metric: str, source: str = "router-1") -> list[float]:
    return [o.value for o in found if (o.source, o.metric) == (source, metric)]


def ping(wire: Cable, count: int) -> None:
    argv = ["ping", "-n", "-q", "-c", str(count), "-i", "0.005", wire.deployment.server.address]
    wire.deployment.client.host.run(argv, timeout_s=30)


def test_every_echo_and_reply_of_a_router(wire: Cable, tmp_path: Path) -> None:
    from scapy.layers.inet import ICMP
    from scapy.utils import rdpcap

    ping(wire, 1)
    watching = monitor(direction="both", filter=["icmp"], keep_captures=True)
    watching.start(routed(wire), tmp_path)
    ping(wire, 100)
    found = watching.stop()
    assert not processes_in(wire.spaces["middle"])
    for prefix, way in (("", "forward"), ("reverse_", "reverse")):
        stem = f"{prefix}captured_processing_time"
        assert of(found, f"{stem}_packets") == [100]
        assert of(found, f"{stem}_ambiguous_packets") == [0]
        assert of(found, f"{stem}_only_entered_packets") == [0]
        assert of(found, f"{stem}_only_left_packets") == [0]
        inside = of(found, f"{stem}_us")
        assert len(inside) == 100
        assert all(0 < value < 100_000 for value in inside)
        assert of(found, f"{stem}_mean_us") == [pytest.approx(fmean(inside))]
        assert of(found, f"{stem}_p50_us")[0] < of(found, f"{stem}_p99_us")[0]
        # The same captures, read by scapy and paired by ICMP's sequence number.
        ends = [
            {p[ICMP].seq: p.time for p in rdpcap(str(tmp_path / f"tcpdump-{hop}.pcap"))}
            for hop in (f"inside-router-1-{way}-in", f"inside-router-1-{way}-out")
        ]
        judged = [float(ends[1][seq] - ends[0][seq]) * 1e6 for seq in range(1, 101)]
        assert sorted(inside) == pytest.approx(sorted(judged), abs=1e-2)
    dropped = of(found, "capture_dropped_packets", "inside-router-1-forward-in")
    assert dropped == [0]
    assert of(found, "monitor_cpu_s", "transit-time")[0] > 0


def test_a_shaper_in_the_router_is_time_inside_it(wire: Cable, tmp_path: Path) -> None:
    # 1 Mbit/s: a burst of UDP datagrams of 972 bytes (IP) waits 7.9 ms for each one before it.
    wire.shape("middle", "tbf", "rate", "1mbit", "burst", "1100", "limit", "100000")
    ping(wire, 1)
    time.sleep(0.5)
    watching = monitor(filter=["udp", "port", "9"])
    watching.start(routed(wire), tmp_path)
    script = (
        "import socket\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for n in range(20): s.sendto(n.to_bytes(4, 'big') + bytes(940), "
        f"({wire.deployment.server.address!r}, 9))\n"
    )
    wire.deployment.client.host.run(["python3", "-c", script], timeout_s=20)
    found = watching.stop()
    inside = sorted(of(found, "captured_processing_time_us"))
    assert len(inside) == 20
    steps = [b - a for a, b in pairwise(inside[2:])]
    assert fmean(steps) == pytest.approx(986 * 8, rel=0.1)
    assert list(tmp_path.glob("*.pcap")) == []


def test_what_a_switch_floods_is_not_of_the_vnf(wire: Cable, tmp_path: Path) -> None:
    """The VNF's own output comes back to its ingress, for somebody else."""
    import socket

    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    from scapy.packet import Raw

    ping(wire, 1)
    middle = wire.deployment.hops[0].host
    listed = middle.run(["ip", "-br", "link", "show", "dev", "client0"], timeout_s=10).text
    near = listed.split()[2]
    watching = monitor(filter=["udp"])
    watching.start(routed(wire), tmp_path)
    with inside(Path("/run/netns", wire.spaces["client"])):
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    with sender:
        sender.bind(("eth0", 0))
        for number in range(1, 21):
            datagram = UDP(sport=7, dport=9) / Raw(bytes([number]) * 20)
            packet = IP(src=CLIENT, dst=SERVER, id=number) / datagram
            for target in (near, "02:00:00:00:00:99"):
                sender.send(bytes(Ether(dst=target) / packet))
    found = watching.stop()
    assert of(found, "captured_processing_time_packets") == [20]
    assert of(found, "captured_processing_time_ambiguous_packets") == [0]
    assert of(found, "captured_packets", "inside-router-1-forward-in") == [20]


def test_lost_packets_are_counted(wire: Cable, tmp_path: Path) -> None:
    wire.drop_udp()
    watching = monitor(filter=["udp"])
    watching.start(routed(wire), tmp_path)
    script = (
        "import socket\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"for n in range(10): s.sendto(bytes([n]), ({wire.deployment.server.address!r}, 9))\n"
    )
    wire.deployment.client.host.run(["python3", "-c", script], timeout_s=20)
    found = watching.stop()
    assert of(found, "captured_processing_time_only_entered_packets") == [10]
    assert of(found, "captured_processing_time_packets") == [0]
    assert of(found, "captured_processing_time_mean_us") == []


def test_what_cannot_be_captured_is_refused(wire: Cable, tmp_path: Path) -> None:
    deployment = routed(wire)
    with pytest.raises(MeasurementError, match="named router-2"):
        monitor(functions=["router-2"]).start(deployment, tmp_path)
    blind = replace(deployment, functions=(function(1, "forwarder"),))
    with pytest.raises(MeasurementError, match="no VNF of this chain"):
        monitor().start(blind, tmp_path)
    single = replace(deployment, functions=(function(1, interfaces=("client0",)),))
    with pytest.raises(MeasurementError, match="one interface"):
        monitor().start(single, tmp_path)
    assert not processes_in(wire.spaces["middle"])


def test_a_chain_without_vnfs_is_a_baseline(wire: Cable, tmp_path: Path) -> None:
    watching = monitor()
    watching.start(wire.deployment, tmp_path)
    assert [o.metric for o in watching.stop()] == ["monitor_cpu_s"]
