"""Labelled traffic through real chains, judged by scapy."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import requests
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapReader, PcapWriter
from support.local import local_driver
from support.network.cable import CLIENT as CABLE_CLIENT
from support.network.cable import SERVER as CABLE_SERVER
from support.network.cable import Cable
from support.network.wires import eventually
from support.probing import doubts, made, measure, values
from support.records.scenarios import scenario

from sfcperf.active.base import ProbeResult
from sfcperf.active.labelled_traffic import LabelledTraffic
from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment, Hop

pytestmark = pytest.mark.root

USER, FLOODER, SCANNER, SERVER = "198.51.100.1", "203.0.113.9", "203.0.113.77", "192.0.2.1"
LABELS = (
    "start_s,end_s,protocol,address,port,other_address,other_port,label\n"
    f",,,{FLOODER}/32,,,,flood\n,,,{SCANNER}/32,,,,scan\n,,,{USER}/32,,,,benign\n"
)
GAP_S = 0.002


def packets() -> Iterator[Packet]:
    """Of the user, whom the server answers, and of two attackers."""
    for n in range(100):
        port = 1000 + n % 10
        request = TCP(sport=port, dport=80, seq=n, flags="PA") / Raw(b"GET" + b"x" * (13 * n))
        yield IP(src=USER, dst=SERVER, id=n) / request
        answer = TCP(sport=80, dport=port, seq=n, flags="A")
        yield IP(src=SERVER, dst=USER, id=n) / answer
        yield IP(src=FLOODER, dst=SERVER, id=n) / UDP(sport=5000 + n % 4, dport=53) / Raw(b"y" * n)
        if n % 10 == 0:
            yield IP(src=FLOODER, dst=SERVER, id=n) / ICMP(id=7, seq=n)
        yield IP(src=SCANNER, dst=SERVER, id=n) / TCP(sport=4000, dport=n + 1, seq=n, flags="S")
        refused = TCP(sport=n + 1, dport=4000, seq=0, ack=n + 1, flags="RA")
        yield IP(src=SERVER, dst=SCANNER, id=n) / refused


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """As parameters of the probe."""
    folder = tmp_path_factory.mktemp("labelled")
    with PcapWriter(str(folder / "trace.pcap")) as writer:
        for number, packet in enumerate(packets()):
            frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet
            frame.time = 1000 + number * GAP_S
            writer.write(frame)
    (folder / "labels.csv").write_text(LABELS)
    return {"pcap": str(folder / "trace.pcap"), "labels": str(folder / "labels.csv")}


def through(
    folder: Path, dataplane: str, types: list[str], between: Any = lambda deployment: None,
    **given: Any,
) -> ProbeResult:  # fmt: skip
    """What the probe measures through a chain; `between` happens after it is prepared."""
    probe = made(LabelledTraffic, **given)
    with local_driver(folder, dataplane) as driver:
        deployment = driver.deploy(scenario(types, knobs={"rules_by": "rest"}))
        try:
            probe.prepare(deployment, folder)
            between(deployment)
            return probe.measure(deployment, folder)
        finally:
            probe.cleanup()


def block(deployment: Deployment, *sources: str) -> None:
    for function in deployment.functions:
        if (interface := function.rule_interface) is not None:
            for source in sources:
                answer = requests.put(
                    f"{interface.url}/rules/sources/{source}",
                    json={"ttl_s": 60},
                    headers={"Authorization": f"Bearer {interface.token}"},
                    timeout=10,
                )
                assert answer.status_code == 201, answer.text


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(("dataplane", "firewall"), [("ebpf", "nsh_firewall"), ("ovs", "firewall")])
def test_a_rule_for_a_source_blocks_what_the_trace_says(
    tmp_path: Path, dataplane: str, firewall: str, trace: dict[str, str]
) -> None:
    found = through(
        tmp_path, dataplane, [firewall], lambda d: block(d, FLOODER), **trace,
        training_share=0, keep_captures=True,
    )  # fmt: skip
    assert doubts(found) == []
    got = values(found)
    attack = [p for p in packets() if p[IP].src in (FLOODER, SCANNER)]
    flood = [p for p in attack if p[IP].src == FLOODER]
    size = {name: sum(14 + len(p) for p in chosen) for name, chosen in
            (("attack", attack), ("flood", flood))}  # fmt: skip
    assert got["attack_packets_blocked_ratio"] == pytest.approx(len(flood) / len(attack))
    assert got["attack_bytes_passed_ratio"] == pytest.approx(1 - size["flood"] / size["attack"])
    assert got["benign_packets_lost_ratio"] == got["fpr"] == got["scan.recall"] == 0
    assert got["flood.recall"] == got["flood.packets_blocked_ratio"] == 1
    # Four flows of UDP and one of ICMP; the scan has one for each of 100 ports.
    assert got["recall"] == got["attack_flows_blocked_ratio"] == pytest.approx(5 / 105)
    assert got["flood.flows"] == 5
    assert found.notes["attack_flows_stopped_at_once"] == 5
    assert found.notes["dropped_by_rules"] == len(flood)
    assert found.notes["lost_without_rule"] == 0
    # What reached the server, as tshark says.
    argv = ["tshark", "-r", str(tmp_path / "replay" / "tcpdump-server.pcap"), "-T", "fields"]
    fields = [*argv, "-e", "ip.src", "-o", "ip.check_checksum:FALSE"]
    sources = subprocess.run(fields, capture_output=True, text=True, check=True).stdout.split()
    passed = [p[IP].src for p in packets() if p[IP].src != FLOODER]
    assert sorted(s for s in sources if s in {USER, FLOODER, SCANNER, SERVER}) == sorted(passed)


def test_time_until_a_flow_is_blocked(tmp_path: Path, trace: dict[str, str]) -> None:
    """A rule that comes while packets are sent. scapy computes the times from the captures."""
    timers: list[threading.Timer] = []

    def later(deployment: Deployment) -> None:
        timers.append(threading.Timer(0.8, block, (deployment, FLOODER)))
        timers[0].start()

    found = through(
        tmp_path, "ebpf", ["nsh_firewall"], later, **trace, training_share=0, keep_captures=True
    )
    timers[0].join()
    sent, arrived = (
        seen(tmp_path / "replay" / f"tcpdump-{end}.pcap") for end in ("client", "server")
    )
    assert len(arrived) < len(sent)
    first: dict[Any, float] = {}
    stopped: dict[Any, float] = {}
    for key, time_s in sent.items():
        flow = key[:-1]
        first.setdefault(flow, time_s)
        if key not in arrived:
            stopped.setdefault(flow, time_s)
    times_ms = [1000 * (stopped[flow] - first[flow]) for flow in stopped]
    assert len(times_ms) == found.notes["attack_flows_timed"] == 5
    assert values(found)["time_to_block_ms"] == pytest.approx(median(times_ms), abs=0.01)
    assert sorted(found.series["time_to_block_ms"]) == pytest.approx(sorted(times_ms), abs=0.01)
    # All packets of these flows after the first one stopped were stopped.
    assert values(found)["attack_flows_blocked_ratio"] == pytest.approx(5 / 105)


def seen(capture: Path) -> dict[Any, float]:
    """Flow and number of each packet of the flooder -> time."""
    found = {}
    with PcapReader(str(capture)) as frames:
        for frame in frames:
            if IP in frame and frame[IP].src == FLOODER:
                port = frame[UDP].sport if UDP in frame else 0
                found[frame[IP].proto, port, frame[IP].id] = float(frame.time)
    return found


@pytest.fixture
def routed(wire: Cable) -> Cable:
    """Its middle knows where to send packets for foreign addresses."""
    argv = ["ip", "-n", wire.spaces["middle"], "route", "add", "default", "via", CABLE_SERVER]
    subprocess.run(argv, check=True)
    return wire


def test_losses_without_a_rule_are_told_apart(
    routed: Cable, tmp_path: Path, trace: dict[str, str]
) -> None:
    routed.drop_udp()
    found = measure(routed, tmp_path, LabelledTraffic, **trace, training_share=0)
    lost = sum(1 for p in packets() if UDP in p)
    assert found.notes["lost_without_rule"] == lost
    [doubt] = doubts(found)
    assert doubt.startswith(f"{lost} of {found.notes['packets_sent']} packets were stopped, but no")


def test_what_trains_is_not_sent(routed: Cable, tmp_path: Path, trace: dict[str, str]) -> None:
    found = measure(routed, tmp_path, LabelledTraffic, **trace, training_share=0.5)
    left_out = found.notes["packets_left_out"]["training"]
    assert doubts(found) == []
    assert found.notes["packets_sent"] + left_out == sum(1 for _ in packets())
    assert left_out > 0


def test_captures_inside_the_endpoints(
    routed: Cable, tmp_path: Path, trace: dict[str, str]
) -> None:
    """As where the SFF's side of an endpoint is not accessible. The server answers nothing, even if
    its kernel forwards elsewhere."""
    ends = (routed.deployment.client, routed.deployment.server)
    hops = tuple(Hop(end.name, end.host, end.interface, inside=True) for end in ends)
    inside = replace(routed, deployment=replace(routed.deployment, hops=hops))
    server = ends[1].host
    server.run(["ethtool", "-K", "eth0", "gro", "on"], timeout_s=10)
    server.run(["sysctl", "-q", "-w", "net.ipv4.ip_forward=1"], timeout_s=10)
    capture = server.spawn(
        ["tcpdump", "-i", "eth0", "-Q", "out", "-w", "-", "-U", "--immediate-mode", "ip"],
        stdout=tmp_path / "answers.pcap", stderr=tmp_path / "answers.txt",
    )  # fmt: skip
    assert eventually(lambda: "listening" in (tmp_path / "answers.txt").read_text())
    found = measure(inside, tmp_path, LabelledTraffic, **trace, training_share=0)
    capture.stop()
    assert doubts(found) == []
    assert found.notes["packets_arrived"] == sum(1 for _ in packets())
    shown = server.run(["ethtool", "-k", "eth0"], timeout_s=10).text
    assert "generic-receive-offload: on" in shown
    with PcapReader(str(tmp_path / "answers.pcap")) as frames:
        # The client asks with a ping where its next hop is.
        assert {frame[IP].dst for frame in frames} <= {CABLE_CLIENT}
    assert server.read_text("/proc/sys/net/ipv4/conf/eth0/forwarding").strip() == "1"


def test_packets_that_do_not_fit_are_refused(wire: Cable, tmp_path: Path) -> None:
    with PcapWriter(str(tmp_path / "large.pcap")) as writer:
        writer.write(Ether() / IP(src=USER, dst=SERVER) / UDP() / Raw(b"z" * 1600))
    (tmp_path / "labels.csv").write_text(LABELS)
    given = {"pcap": str(tmp_path / "large.pcap"), "labels": str(tmp_path / "labels.csv")}
    with pytest.raises(MeasurementError, match="packets of 1628 bytes, and the MTU of the client"):
        measure(wire, tmp_path, LabelledTraffic, **given, training_share=0)
