"""Background traffic over a real cable; the server's kernel counts it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import Cable, processes_in

from sfcperf.errors import MeasurementError
from sfcperf.hosts.procfs import protocol_counters
from sfcperf.passive.background import BackgroundMonitor
from sfcperf.waiting import sleep

pytestmark = pytest.mark.root


def made(**given: Any) -> BackgroundMonitor:
    properties = BackgroundMonitor.parameters["properties"]
    return BackgroundMonitor({n: p["default"] for n, p in properties.items()} | given)


def refused(wire: Cable) -> int:
    """Datagrams to ports at which nobody listens."""
    text = wire.deployment.server.host.read_text("/proc/net/snmp")
    return protocol_counters(text, "Udp")["NoPorts"]


def test_each_flow_is_there_before_the_probe_begins(wire: Cable, tmp_path: Path) -> None:
    capture = wire.deployment.server.host.spawn(
        ["tcpdump", "-i", "eth0", "-n", "-l", "udp"], stdout=tmp_path / "seen", stderr=None
    )
    sleep(0.5)
    monitor = made(flows=200, rate_pps=1000, rate_tolerance=0.5)
    before = refused(wire)
    monitor.start(wire.deployment, tmp_path)
    at_start = refused(wire) - before
    sleep(0.5)
    sent, rate, cpu = monitor.stop()
    assert (sent.metric, rate.metric, cpu.metric) == ("sent_packets", "sent_pps", "monitor_cpu_s")
    assert 200 <= at_start < sent.value
    assert refused(wire) - before == sent.value
    assert 500 <= rate.value < 1200
    sleep(0.5)
    capture.stop()
    ports = {
        line.split()[2].rpartition(".")[2]
        for line in (tmp_path / "seen").read_text().splitlines()
        if ".9: UDP" in line
    }
    assert ports == {str(1024 + flow) for flow in range(200)}
    assert not processes_in(wire.spaces["client"])


def test_a_sender_that_is_too_slow_fails_the_trial(wire: Cable, tmp_path: Path) -> None:
    monitor = made(rate_pps=1_000_000, frame_bytes=1518, rate_tolerance=0.01)
    monitor.start(wire.deployment, tmp_path)
    with pytest.raises(MeasurementError, match="of 1000000 pps"):
        monitor.stop()
    assert not processes_in(wire.spaces["client"])


def test_a_sender_that_ends_fails_the_trial(wire: Cable, tmp_path: Path) -> None:
    wire.deployment.client.host.run(["ip", "link", "set", "eth0", "down"], timeout_s=10)
    monitor = made()
    with pytest.raises(MeasurementError, match="ended before the probe"):
        monitor.start(wire.deployment, tmp_path)
    with pytest.raises(MeasurementError, match="ended before the probe"):
        monitor.stop()


def test_frames_that_do_not_fit_are_refused(wire: Cable, tmp_path: Path) -> None:
    monitor = made(frame_bytes=1518)
    small = replace(wire.deployment.client, mtu=1000)
    with pytest.raises(MeasurementError, match="frames of 1518 bytes are too large"):
        monitor.start(replace(wire.deployment, client=small), tmp_path)
    assert monitor.stop() == []
