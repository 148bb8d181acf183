"""Every VNF type of the kernel in real chains: ping, iperf3, the traversal proof, counters."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import pytest
from support.needs import skip_unless
from support.network.echoes import ping
from support.network.transfers import transfer
from support.records.scenarios import scenario, topology

from sfcperf import plugins
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Deployment
from sfcperf.vnfs.firewall.engines import ENGINES
from sfcperf.vnfs.firewall.function import MAX_RULES
from sfcperf.vnfs.ids.features import NAMES
from sfcperf.vnfs.ips import suricata
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Resources

pytestmark = pytest.mark.root

PINGS = 5
TCP = ("-n", "4M", "-w", "256K")
"""A transfer whose last bytes do not wait in a large buffer: iperf3 ends when all was handed to the
kernel, and what the server had not received by then is not counted (10 ms of delay hold a lot)."""


def carrying(
    driver: LocalDriver,
    types: Sequence[str],
    encapsulation: str = "nsh-eth",
    *,
    where: str = "T2",
    memory_mib: int = 64,
    **knobs: Any,
) -> Deployment:
    """Deploy a chain that carries traffic: proven traversal, pings, TCP both ways and UDP; nothing
    is reported as wrong."""
    chain = scenario(
        types,
        where=topology(where),
        encapsulation=encapsulation,  # type: ignore[arg-type]
        knobs=knobs,
        resources=Resources(vcpus=1, memory_mib=memory_mib),
    )
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert ping(deployment, PINGS) == PINGS
    assert transfer(deployment, *TCP)["bytes"] > 3 * 1024 * 1024
    assert transfer(deployment, *TCP, "-R")["bytes"] > 3 * 1024 * 1024
    assert transfer(deployment, "-u", "-b", "4M", "-n", "64K")["bytes"] > 32 * 1024
    assert driver.problems(deployment) == []
    return deployment


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("engine", ["nftables", "iptables", "iptables-legacy"])
def test_firewall(driver: LocalDriver, engine: str) -> None:
    deployment = carrying(driver, ["router", "firewall"], engine=engine, rules=1000)
    counters = deployment.functions[1].counters()
    assert counters["passed_all_rules"] == counters["forwarded"] > 1000
    assert counters["dropped_by_rules"] == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
@pytest.mark.parametrize("engine", list(ENGINES))
def test_the_most_rules_within_the_memory_of_the_descriptor(
    driver: LocalDriver, engine: str
) -> None:
    knobs = {"engine": engine, "rules": MAX_RULES}
    chain = scenario(["firewall"], knobs=knobs, resources=Resources(vcpus=1, memory_mib=256))
    deployment = driver.deploy(chain)
    assert ping(deployment, PINGS) == PINGS
    assert deployment.functions[0].counters()["passed_all_rules"] >= 2 * PINGS


@pytest.mark.gate_runs(1)
def test_nat(driver: LocalDriver) -> None:
    deployment = carrying(driver, ["nat", "router", "nat"], "nsh-vxlan-gpe", where="T1")
    for position in (0, 2):
        counters = deployment.functions[position].counters()
        assert counters["translated_source"] > 1000
        # The proof's packets alone belong to no connection: 3 each way, twice on `ebpf`, and 3 for
        # the counters.
        assert counters["translated_source"] + counters["untracked"] == counters["forwarded"]
        plane = deployment.facts["dataplane"]["node1"]
        assert counters["untracked"] == {"ovs": 9, "ebpf": 15, "bmv2": 9}[plane]


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("encapsulation", ["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize(
    ("engine", "io"), [("swx", "af_packet"), ("native", "af_packet"), ("native", "af_xdp")]
)
def test_heavy_hitter(driver: LocalDriver, engine: str, io: str, encapsulation: str) -> None:
    """It finds the transfers, and counts what ping counts."""
    knobs = {"engine": engine, "io": io, "action": "report", "threshold": 100, "window_s": 3600}
    deployment = carrying(
        driver, ["heavy_hitter", "router", "heavy_hitter"], encapsulation, memory_mib=512, **knobs
    )
    for position in (0, 2):
        reporter = deployment.functions[position].flows
        assert reporter is not None
        [window] = reporter.end_window()
        assert {flow.protocol for flow in window.flows} == {6}
        assert window.packets > 1000
        reporter.begin_window()
        assert ping(deployment, PINGS) == PINGS
        [window] = reporter.end_window()
        assert (window.packets, window.flows) == (2 * PINGS, ())


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("encapsulation", ["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize("engine", ["ebpf", pytest.param("bmv2", marks=pytest.mark.bmv2)])
def test_sfcmon(driver: LocalDriver, engine: str, encapsulation: str) -> None:
    """It counts what ping counts, each way, wherever it is in the chain."""
    knobs = {"engine": engine, "threshold": 0, "threshold_eval": 0, "window_s": 3600}
    deployment = carrying(
        driver, ["sfcmon", "router", "sfcmon"], encapsulation, memory_mib=256, **knobs
    )
    client, server = deployment.client.address, deployment.server.address
    for position in (0, 2):
        reporter = deployment.functions[position].flows
        assert reporter is not None
        reporter.end_window()
    assert ping(deployment, PINGS) == PINGS
    for position in (0, 2):
        reporter = deployment.functions[position].flows
        assert reporter is not None
        (window,) = reporter.end_window()
        assert (window.packets, window.missing_flows, set(window.unparsed.values())) == (
            2 * PINGS,
            0,
            {0},
        )
        # The way back crosses the last function first.
        found = {
            (flow.source_address, flow.spi, flow.si, flow.protocol_name, flow.packets, flow.bytes)
            for flow in window.flows
        }
        size = PINGS * (20 + 8 + 56)
        assert found == {
            (client, 42, 255 - position, "icmp", PINGS, size),
            (server, 42 | 1 << 23, 253 + position, "icmp", PINGS, size),
        }
        assert {flow.certainty for flow in window.flows} == {"exact"}
        assert deployment.functions[position].counters()["dropped"] == 0


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("encapsulation", ["nsh-eth", "nsh-vxlan-gpe"])
def test_ids(driver: LocalDriver, encapsulation: str) -> None:
    """Its records have the packets that it forwarded, each once."""
    deployment = carrying(driver, ["router", "ids"], encapsulation, memory_mib=256, early_packets=0)
    ids = driver._built[deployment.id].running["ids-2"]
    ids.stop()
    counters = ids.counters()
    (file,) = driver.context.raw_dir.rglob("*.records.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    columns = {name: NAMES.index(name) for name in ("proto", "total_fpackets", "total_bpackets")}
    packets = {"total_fpackets": 0, "total_bpackets": 0}
    for record in records:
        for name in packets:
            packets[name] += record["features"][columns[name]]
    assert sum(packets.values()) == counters["forwarded"] - counters["malformed"] > 1000
    assert min(packets.values()) > 100
    assert {record["features"][columns["proto"]] for record in records} >= {1, 6, 17}
    assert counters["records_made"] == counters["records_sent"] == len(records)
    assert counters["records_lost"] == counters["flows_evicted"] == 0


@pytest.mark.gate_runs(1)
def test_load_balancer(driver: LocalDriver) -> None:
    knobs = {"port": 80, "backends": [8081], "engine": "nftables"}
    deployment = carrying(driver, ["firewall", "load_balancer"], **knobs)
    assert transfer(deployment, *TCP, asked=80, served=8081)["bytes"] > 3 * 1024 * 1024
    assert transfer(deployment, *TCP, "-R", asked=80, served=8081)["bytes"] > 3 * 1024 * 1024
    assert deployment.facts["functions"] == {"load_balancer-2": {"engine": "nftables"}}
    counters = deployment.functions[1].counters()
    # iperf3 opens two connections for a transfer.
    assert counters["connections_port8081"] == 4
    assert counters["balanced"] > 1000


@pytest.mark.gate_runs(1)
def test_delay(driver: LocalDriver) -> None:
    deployment = carrying(driver, ["router", "delay"], delay_us=5000)
    counters = deployment.functions[1].counters()
    assert counters["forwarded"] > 1000
    assert counters["dropped"] == 0
    assert counters["delay_min_ns"] >= 5_000_000


def _needs(kind: str, **wanted: str) -> None:
    """Skip where a type's tools are not installed."""
    plugin = plugins.load("vnf", kind)
    knobs = with_defaults(plugin.parameters, wanted)
    skip_unless(*plugin.requirements(knobs))


@pytest.mark.gate_runs(1)
def test_dpi(driver: LocalDriver) -> None:
    _needs("dpi")
    deployment = carrying(driver, ["router", "dpi"], where="T1")
    dpi = driver._built[deployment.id].running["dpi-2"]
    before = dpi.counters()
    assert before["inspector_cpu_ms"] > 0
    dpi.stop()
    after = dpi.counters()
    # The proof's and the pings' packets, and those of three transfers, both ways.
    assert after["inspected"] >= 0.9 * before["forwarded"] > 900
    assert after["protocol_iperf3"] > 900
    assert after["protocol_icmp"] >= 2 * PINGS


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_dpi_that_dies_is_told(driver: LocalDriver) -> None:
    _needs("dpi")
    deployment = driver.deploy(scenario(["dpi"]))
    (pid,) = deployment.meters["dpi-1"].pids()
    os.kill(pid, signal.SIGKILL)
    while deployment.functions[0].alive() is None:
        time.sleep(0.01)
    assert "dpi-1: ndpiReader has ended with status -9" in driver.problems(deployment)


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("engine", ["nftables", "suricata"])
def test_ips(driver: LocalDriver, engine: str) -> None:
    _needs("ips", engine=engine)
    knobs = {"engine": engine, "config": os.environ.get("SURICATA_CONFIG", suricata.CONFIG)}
    deployment = carrying(driver, ["router", "ips"], where="T1", memory_mib=256, **knobs)
    assert deployment.facts["functions"] == {"ips-2": {"engine": engine}}
    counters = deployment.functions[1].counters()
    assert counters["forwarded"] > 1000
    if engine == "suricata":
        # What comes after a connection's end does not fit into its stream, and is dropped.
        assert counters["inspected"] == counters["forwarded"] + counters["dropped_by_ips"]
        assert counters["dropped_by_ips"] < counters["forwarded"] / 10
    else:
        assert counters["dropped_by_ips"] == 0


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize(
    ("where", "encapsulation"), [("T1", "nsh-eth"), ("T1", "nsh-vxlan-gpe"), ("T2", "nsh-eth")]
)
def test_functions_have_room_for_data_in_band(
    driver: LocalDriver, encapsulation: str, where: str
) -> None:
    """As much as the chain carries: the largest packet of a function arrives, both ways."""
    deployment = carrying(driver, ["router", "forwarder"], encapsulation, where=where)
    site = driver._built[deployment.id]
    assert {_mtu(site.hosts[name], "eth0") for name in ("client", "server")} == {1400}
    [largest] = {_mtu(site.hosts["router-1"], interface) for interface in ("eth0", "eth1")}
    assert largest > 1400
    for name in ("client", "server"):
        site.hosts[name].run(["ip", "link", "set", "eth0", "mtu", str(largest), "up"], timeout_s=10)
    whole = ["-M", "do", "-s", str(largest - 28)]
    assert ping(deployment, PINGS, *whole) == PINGS


def _mtu(host: Host, interface: str) -> int:
    listing = json.loads(host.run(["ip", "-j", "link", "show", interface], timeout_s=10).stdout)
    return int(listing[0]["mtu"])
