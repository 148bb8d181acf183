"""SDN-Mon at the SFFs of the local driver: on all data planes, what is counted is what was sent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from support.local import processes_of
from support.network.wires import Wire, eventually
from support.records.scenarios import scenario, topology
from support.sfcmon.frames import udp4

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.passive.sdn_mon import SdnMonMonitor
from sfcperf.passive.sdn_mon_exports import ExportingSwitch
from sfcperf.results.flows import FlowRecord
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Scenario

pytestmark = pytest.mark.root
FLOWS, EACH = 50, 4


class Watched:
    """A chain whose switches are monitored."""

    def __init__(self, driver: LocalDriver, wanted: Scenario, raw: Path, **given: Any) -> None:
        self._driver = driver
        self.deployment: Deployment = driver.deploy(wanted)
        self.monitor = SdnMonMonitor(with_defaults(SdnMonMonitor.parameters, given))
        self.monitor.start(self.deployment, raw)

    def send(self, flows: int, each: int) -> None:
        """UDP from the client to the server."""
        layout = self._driver._built[self.deployment.id].layout
        macs = Ether(src=layout.client.mac, dst=layout.server.mac)
        wire = Wire(self.deployment.client.host.namespace, "eth0")  # type: ignore[attr-defined]
        for number in range(flows):
            wire.send([bytes(macs / _packet(number))] * each)
        wire.close()

    def end(self) -> list[FlowRecord]:
        self.seen = {(o.source, o.metric): o.value for o in self.monitor.stop()}
        return list(self.monitor.flows())


def _packet(number: int) -> Packet:
    """Of the flow with this number: each has a size of its own."""
    return udp4("10.0.0.1", "10.0.0.2", 1000 + number, dport=9, size=20 + number)


def _packets(flows: list[FlowRecord], switch: str) -> Counter[int | None]:
    """By source port."""
    found = Counter[int | None]()
    for flow in flows:
        if flow.function == switch and flow.protocol == 17:
            found[flow.source_port] += flow.packets
    return found


def test_counted_equals_sent(driver: LocalDriver, tmp_path: Path) -> None:
    """With slots, and the time before them: rows add up to all of it."""
    timing = {"query_interval_ms": 100, "counter_buffer_size": 2}
    wanted = scenario(["forwarder"])
    watched = Watched(driver, wanted, tmp_path, mode="hash", **timing)
    for _ in range(2):
        watched.send(FLOWS, EACH)
        time.sleep(0.12)
    watched.send(FLOWS, EACH)
    flows = watched.end()
    wanted_counts = {1000 + number: 3 * EACH for number in range(FLOWS)}
    assert _packets(flows, "sff@node1") == wanted_counts
    for flow in flows:
        assert flow.window_start_ns <= flow.window_end_ns
        assert flow.certainty == "exact"
    size_bytes = sum(flow.bytes for flow in flows if flow.source_port == 1007)
    assert size_bytes == 3 * EACH * (14 + len(_packet(7)))
    seen = watched.seen
    assert seen["sff@node1", "received_packets"] >= seen["sff@node1", "port_packets"]
    assert seen["sff@node1", "overflowed_packets"] == 0
    assert seen["chain", "cpu_ns_per_packet"] >= 0


@pytest.mark.gate_runs(1)
def test_switches_sample_the_same_flows(driver: LocalDriver, tmp_path: Path) -> None:
    """By the packet inside of what is between them, with its SPI."""
    names = ["nsh_spi", "ipv4_src", "ipv4_dst", "ip_proto", "tp_src", "tp_dst"]
    chain = scenario(["forwarder"] * 2, where=topology("T3"), nodes=["node2", "node3"])
    watched = Watched(driver, chain, tmp_path, ratio=0.5, fields=names)
    watched.send(FLOWS, 1)
    time.sleep(0.3)
    flows = watched.end()
    found = [
        {flow.source_port for flow in flows if flow.function == switch and flow.spi == 42}
        for switch in ("sff@node2", "sff@node3")
    ]
    assert 0 < len(found[0]) < FLOWS
    assert found[0] == found[1]


@pytest.mark.gate_runs(1)
def test_the_sampled_ratio_and_its_interval(driver: LocalDriver, tmp_path: Path) -> None:
    watched = Watched(driver, scenario([]), tmp_path, ratio=0.3, flows=1000, most_flows=10)
    watched.send(1000, 1)
    flows = watched.end()
    seen = watched.seen
    low, high = (seen["sff@node1", f"sampled_ratio_{end}"] for end in ("low", "high"))
    assert low < seen["sff@node1", "sampled_ratio"] < high
    assert len({flow.source_port for flow in flows}) == 10
    assert seen["sff@node1", "unlisted_flows"] == seen["sff@node1", "entries"] - 10


def test_the_baseline_counts_by_the_ports_alone(driver: LocalDriver, tmp_path: Path) -> None:
    watched = Watched(driver, scenario([]), tmp_path, mode="none")
    watched.send(FLOWS, 1)
    assert watched.end() == []
    assert {metric for _, metric in watched.seen} == {
        "port_packets",
        "cpu_ns_per_packet",
        "monitor_cpu_s",
    }
    assert watched.seen["sff@node1", "port_packets"] >= FLOWS


@pytest.mark.gate_runs(1)
def test_packets_that_are_not_counted_fail_the_trial(driver: LocalDriver, tmp_path: Path) -> None:
    watched = Watched(driver, scenario([]), tmp_path)
    port = watched.deployment.switches["sff@node1"].interfaces[0]
    switch = watched.monitor._switches["sff@node1"]
    switch._run("detach", port)
    watched.send(FLOWS, 1)
    switch._run("attach", port)
    with pytest.raises(MeasurementError, match=r"SDN-Mon counted \d+ packets at sff@node1, whose"):
        watched.end()


def _programs() -> set[int]:
    done = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)
    named = json.loads(done.stdout)
    return {program["id"] for program in named if program.get("name") == "change_table"}


_MONITOR_AND_WAIT = """
import time
from pathlib import Path
from sfcperf.hosts.namespace import LocalHost
from sfcperf.dataplane.sdnmon.bpf_file_system import BpfFileSystem
from sfcperf.dataplane.sdnmon.switch import MonitoredSwitch
files = BpfFileSystem()
MonitoredSwitch(LocalHost(Path("/")), files.folder / "0").on(["--fields", "ipv4_src"], [])
print("ready", flush=True)
time.sleep(60)
"""


def test_nothing_is_left_of_a_process_that_is_killed() -> None:
    before = _programs()
    argv = [sys.executable, "-c", _MONITOR_AND_WAIT]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        made = _programs() - before
        assert made
        process.kill()
    # Tests beside this one have programs, too.
    assert eventually(lambda: bool(made - _programs()))


def test_nodes_are_chosen(driver: LocalDriver, tmp_path: Path) -> None:
    watched = Watched(driver, scenario([], where=topology("T2")), tmp_path, nodes=["node2"])
    watched.end()
    assert {source for source, metric in watched.seen if metric == "entries"} == {"sff@node2"}


@pytest.mark.parametrize("driver", ["ovs"], indirect=True)
@pytest.mark.parametrize("mode", ["sflow", "ipfix"])
def test_what_open_vswitch_exports(driver: LocalDriver, tmp_path: Path, mode: str) -> None:
    """Of each packet; it ends with the trial, and can begin again."""
    watched = Watched(driver, scenario([]), tmp_path, mode=mode)
    watched.send(FLOWS, EACH)
    time.sleep(0.3)
    watched.end()
    assert watched.seen["sff@node1", "export_datagrams"] > 0
    assert watched.seen["sff@node1", "export_bytes"] > 0
    if mode == "sflow":
        assert watched.seen["sff@node1", "export_records"] >= FLOWS * EACH
    again = SdnMonMonitor(with_defaults(SdnMonMonitor.parameters, {"mode": mode}))
    again.start(watched.deployment, tmp_path)
    assert {o.metric for o in again.stop()} >= {"export_datagrams", "monitor_cpu_s"}


@pytest.mark.parametrize("driver", ["ovs"], indirect=True)
def test_the_collector_of_a_switch_that_was_killed_ends(driver: LocalDriver) -> None:
    switch = driver.deploy(scenario([])).switches["sff@node1"]
    exporting = ExportingSwitch(switch, "sflow", 1.0)
    for pid, name in processes_of(driver.context.tag).items():
        if name in ("ovsdb-server", "ovs-vswitchd"):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(DeploymentError):
        exporting.stop()
    assert not [each for each in threading.enumerate() if each.name == "the collector of sflow"]
