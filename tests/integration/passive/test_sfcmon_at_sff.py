"""SFCMon at the SFFs of the local driver: all data planes are held to the same counts, which are
those of what was sent, and of the lookups that each SFF counts itself."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from support.network.echoes import ping
from support.network.wires import Wire, eventually
from support.records.scenarios import scenario, topology
from support.sfcmon.frames import tcp6, udp4

from sfcperf.dataplane.nsh import Nsh
from sfcperf.dataplane.nsh.header import ETHERTYPE, ContextHeader
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import CannotBeMeasured, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.passive.sfcmon import SfcmonMonitor
from sfcperf.results.flows import FlowRecord
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Match, MonitorSpec, Scenario

pytestmark = pytest.mark.root

PLANES = ("ebpf", "ovs")
"""Where sfc-sfcmon monitors."""
PINGS = 40
FLOWS, EACH = 20, 5
BATCH, BATCHES, PAUSE_S = 20, 200, 0.005
"""Frames that fit into the queue of a veth; some thousand per second."""
REVERSE = 1 << 23
WITHOUT_LIMITS = {"threshold": 0, "threshold_eval": 0, "window_s": 0.02}
Lookups = Mapping[tuple[str, int, int], int]
"""SFF, SPI, SI -> packets."""


class Watched:
    """A chain whose SFFs are monitored."""

    def __init__(self, driver: LocalDriver, wanted: Scenario, raw: Path, **given: Any) -> None:
        self._built = driver
        parameters = {"at": "sffs", **WITHOUT_LIMITS, **given}
        known = with_defaults(SfcmonMonitor.parameters, parameters)
        # On bmv2, the program that monitors is chosen by what the scenario says.
        monitors = (MonitorSpec(SfcmonMonitor.name, known),)
        self.deployment: Deployment = driver.deploy(replace(wanted, monitors=monitors))
        self._monitor = SfcmonMonitor(known)
        self._before = self.counted()
        self._monitor.start(self.deployment, raw)

    def counted(self) -> Lookups:
        """What the SFFs count themselves."""
        sffs = self._built._built[self.deployment.id].sffs
        return {
            (f"sff@{node}", *path): packets
            for node, sff in sffs.items()
            for path, packets in sff.packets_by_path().items()
        }

    def looked_up(self) -> Lookups:
        """The same since the monitor began, without zeros."""
        return {
            key: packets - self._before.get(key, 0)
            for key, packets in self.counted().items()
            if packets != self._before.get(key, 0)
        }

    def wire(self, instance: str) -> Wire:
        """In an instance's namespace."""
        host = next(
            one.host
            for one in (self.deployment.client, *self.deployment.functions)
            if one.name == instance
        )
        return Wire(host.namespace, "eth0")  # type: ignore[attr-defined]

    def mac(self, instance: str) -> str:
        """Of an endpoint, or of a node's SFF."""
        layout = self._built._built[self.deployment.id].layout
        ends = {"client": layout.client.mac, "server": layout.server.mac}
        return ends[instance] if instance in ends else layout.nodes[instance].mac

    def end(self) -> list[FlowRecord]:
        """The flows of all windows, of which none may be incomplete."""
        found = self._monitor.stop()
        for metric in ("missing_flows", "residual_cells"):
            assert {o.value for o in found if o.metric == metric} <= {0}
        self.unparsed = Counter[str]()
        self.packets = Counter[str]()
        for seen in found:
            if seen.metric.startswith("unparsed_"):
                self.unparsed[seen.metric] += int(seen.value)
            if seen.metric == "monitored_packets":
                self.packets[seen.source] += int(seen.value)
        flows = list(self._monitor.flows())
        assert {flow.certainty for flow in flows} <= {"exact"}
        return flows


def by_lookup(flows: list[FlowRecord], **only: Any) -> Counter[tuple[str, int, int]]:
    found = Counter[tuple[str, int, int]]()
    for flow in flows:
        if all(getattr(flow, name) == value for name, value in only.items()):
            found[flow.function, flow.spi, flow.si] += flow.packets
    return found


CHAINS = {
    "one node": scenario(["forwarder", "router", "forwarder"]),
    "vxlan-gpe": scenario(["forwarder", "router"], encapsulation="nsh-vxlan-gpe"),
    "three nodes": scenario(
        ["forwarder", "router", "forwarder"],
        where=topology("T3"),
        nodes=["node2", "node2", "node3"],
    ),
    "transit": scenario(["router", "forwarder"], where=topology("T2"), reverse="bypass"),
}

IN_THE_GATE = ("one node", "three nodes")


@pytest.mark.parametrize(
    "chain",
    [
        pytest.param(chain, id=name, marks=() if name in IN_THE_GATE else pytest.mark.exhaustive)
        for name, chain in CHAINS.items()
    ],
)
def test_flows_are_what_was_looked_up(driver: LocalDriver, tmp_path: Path, chain: Scenario) -> None:
    watched = Watched(driver, chain, tmp_path)
    assert ping(watched.deployment, PINGS) == PINGS
    looked_up = watched.looked_up()
    flows = watched.end()
    assert by_lookup(flows) == looked_up
    paths = (42, 42 | REVERSE) if chain.chain.reverse == "symmetric" else (42,)
    assert {spi for _, spi, _ in looked_up} == set(paths)
    assert set(looked_up.values()) == {PINGS}
    assert {flow.protocol for flow in flows} == {1}
    assert not +watched.unparsed


def test_each_flow_has_its_packets_and_bytes(
    request: pytest.FixtureRequest, driver: LocalDriver, tmp_path: Path
) -> None:
    """Of those that the classifier takes; others bypass the chain."""
    match = Match(ip_proto="udp", source="10.0.0.0/24", destination_port=9)
    watched = Watched(driver, scenario(["forwarder", "router"], match=match), tmp_path)
    wire = watched.wire("client")
    macs = Ether(src=watched.mac("client"), dst=watched.mac("server"))
    taken: list[Packet] = [
        udp4("10.0.0.1", "10.0.0.2", 1000 + number, dport=9, size=number) for number in range(FLOWS)
    ]
    others: list[Packet] = [
        udp4("10.0.0.1", "10.0.0.2", 1000, dport=10),
        udp4("10.9.0.1", "10.0.0.2", 1000, dport=9),
        IP(src="10.0.0.1", dst="10.0.0.2", proto=253) / UDP(dport=9),
        tcp6("fd00::1", "fd00::2"),
    ]
    # The later one has no ports, and may belong to any flow of the protocol. Open vSwitch does not
    # look at the ports of the first one either.
    port = 10 if request.node.callspec.params["driver"] == "ovs" else 9
    first = IP(src="10.0.0.1", dst="10.0.0.2", flags="MF") / UDP(sport=1000, dport=port) / bytes(8)
    later = IP(src="10.0.0.1", dst="10.0.0.2", frag=3, proto=17) / bytes(8)
    wire.send([bytes(macs / packet) for packet in (taken * EACH) + others + [first, later]])
    wire.close()
    sent = FLOWS * EACH + 2
    assert eventually(lambda: watched.looked_up().get(("sff@node1", 42, 253), 0) >= sent)
    flows = [flow for flow in watched.end() if flow.spi == 42]
    assert by_lookup(flows) == {("sff@node1", 42, si): sent for si in (255, 254, 253)}
    found: Counter[tuple[int, int]] = Counter()
    size: Counter[tuple[int, int]] = Counter()
    for flow in flows:
        found[flow.si, flow.source_port] += flow.packets
        size[flow.si, flow.source_port] += flow.bytes
    for si in (255, 254, 253):
        assert (found.pop((si, 0)), size.pop((si, 0))) == (2, 36 + 28)
    assert set(found.values()) == {EACH}
    assert all(size[si, port] == EACH * (28 + port - 1000) for si, port in found)


def test_what_functions_send_is_monitored(driver: LocalDriver, tmp_path: Path) -> None:
    """IPv6, MD type 2 and what cannot be parsed: frames as an SF may send them."""
    watched = Watched(driver, scenario(["forwarder", "router"]), tmp_path)
    wire = watched.wire("forwarder-1")
    outer = Ether(dst=watched.mac("node1"), src="02:00:00:00:00:77", type=ETHERTYPE)
    metadata = (ContextHeader(1, 2, b"abcdefg"),)
    ethernet = Ether(src=watched.mac("client"), dst=watched.mac("server"))

    def frame(packet: Packet, **nsh: Any) -> bytes:
        header = Nsh(spi=42, si=254, next_protocol=3, **nsh)
        return bytes(outer) + header.encode() + bytes(ethernet / packet)

    frames = [
        frame(tcp6("fd00::1", "fd00::2", 7)),
        frame(tcp6("fd00::1", "fd00::2", 7), metadata=metadata),
        frame(udp4("10.0.0.1", "10.0.0.2", 8), metadata=metadata),
        frame(udp4("10.0.0.1", "10.0.0.2", 8))[:45],
        bytes(Ether(dst=watched.mac("node1"), type=0x0806)) + bytes(28),
    ]
    wire.send(frames * EACH)
    assert eventually(lambda: watched.looked_up().get(("sff@node1", 42, 254), 0) >= 3 * EACH)
    flows = [flow for flow in watched.end() if flow.si == 254]
    assert by_lookup(flows, source_port=7) == {("sff@node1", 42, 254): 2 * EACH}
    assert by_lookup(flows, source_port=8) == {("sff@node1", 42, 254): EACH}
    assert +watched.unparsed == {"unparsed_truncated": EACH, "unparsed_not_nsh": EACH}
    wire.close()


@pytest.mark.gate_runs(1)
def test_nodes_are_chosen(driver: LocalDriver, tmp_path: Path) -> None:
    chain = scenario(["forwarder"], where=topology("T2"))
    watched = Watched(driver, chain, tmp_path, nodes=["node2"])
    assert ping(watched.deployment, PINGS) == PINGS
    assert {flow.function for flow in watched.end()} == {"sff@node2"}


def test_a_chain_is_monitored_again(driver: LocalDriver, tmp_path: Path) -> None:
    """Each trial begins with nothing, and the SFF forwards as before in between."""
    watched = Watched(driver, scenario(["forwarder"]), tmp_path)
    assert ping(watched.deployment, PINGS) == PINGS
    first = watched.end()
    assert ping(watched.deployment, PINGS) == PINGS
    watched._monitor.start(watched.deployment, tmp_path)
    assert ping(watched.deployment, PINGS) == PINGS
    assert by_lookup(watched.end()) == by_lookup(first)


@pytest.mark.parametrize("driver", ["ebpf"], indirect=True)
def test_no_packet_is_lost_when_programs_are_exchanged(driver: LocalDriver, tmp_path: Path) -> None:
    watched = Watched(driver, scenario(["forwarder", "router"]), tmp_path)
    wire = watched.wire("client")
    macs = Ether(src=watched.mac("client"), dst=watched.mac("server"))
    batch = [bytes(macs / udp4("10.0.0.1", "10.0.0.2", 7, dport=9))] * BATCH

    def send() -> None:
        for _ in range(BATCHES):
            wire.send(batch)
            time.sleep(PAUSE_S)

    sender = Thread(target=send)
    sender.start()
    while sender.is_alive():
        watched.end()
        watched._monitor.start(watched.deployment, tmp_path)
    sender.join()
    wire.close()
    key = ("sff@node1", 42, 253)
    assert eventually(lambda: watched.looked_up().get(key, 0) >= BATCH * BATCHES)
    looked_up = watched.looked_up()
    assert {looked_up["sff@node1", 42, si] for si in (255, 254, 253)} == {BATCH * BATCHES}


@pytest.mark.parametrize("driver", PLANES, indirect=True)
def test_one_that_was_killed_is_replaced(driver: LocalDriver, tmp_path: Path) -> None:
    watched = Watched(driver, scenario(["forwarder"]), tmp_path)
    running = watched._monitor._watches["sff@node1"]._running  # type: ignore[attr-defined]
    os.kill(running.pids()[0], signal.SIGKILL)
    assert ping(watched.deployment, PINGS) == PINGS
    with pytest.raises(MeasurementError, match="SFCMon at sff@node1 broke"):
        watched.end()
    watched._monitor.start(watched.deployment, tmp_path)
    assert ping(watched.deployment, PINGS) == PINGS
    assert set(by_lookup(watched.end()).values()) == {PINGS}
    assert ping(watched.deployment, PINGS) == PINGS


@pytest.mark.parametrize("driver", ["ebpf"], indirect=True)
def test_a_node_that_is_not_there_is_refused(driver: LocalDriver, tmp_path: Path) -> None:
    with pytest.raises(CannotBeMeasured, match="cannot monitor at sff@node9"):
        Watched(driver, scenario(["forwarder"]), tmp_path, nodes=["node9"])
