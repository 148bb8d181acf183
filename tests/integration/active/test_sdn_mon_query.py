"""sdn_mon_query: the switch of a chain, an agent and a controller; scapy sends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from support.local import local_driver
from support.network.wires import Wire
from support.probing import made
from support.records.scenarios import scenario
from support.sfcmon.frames import udp4

from sfcperf.active.sdn_mon_query import SdnMonQuery
from sfcperf.dataplane.sdnmon.controller.flows import key_of, layout_of
from sfcperf.dataplane.sdnmon.controller.questions import FIELDS, FIRST_PORT, PORTS, udp_keys
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import CannotBeMeasured, InputError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Deployment

pytestmark = pytest.mark.root
ENTRIES, SENT, EACH = 40, 60, 3


@pytest.fixture
def driver(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalDriver]:
    with local_driver(tmp_path, getattr(request, "param", "ovs")) as found:
        yield found


@pytest.fixture
def chain(driver: LocalDriver) -> Deployment:
    return driver.deploy(scenario())


def send(driver: LocalDriver, chain: Deployment) -> None:
    """Flows of the entries, and others."""
    layout = driver._built[chain.id].layout
    macs = Ether(src=layout.client.mac, dst=layout.server.mac)
    wire = Wire(chain.client.host.namespace, "eth0")  # type: ignore[attr-defined]
    ends = chain.client.address, chain.server.address
    for number in range(SENT):
        wire.send([bytes(macs / udp4(*ends, FIRST_PORT + number, dport=9, size=20))] * EACH)
    wire.close()


def test_all_entries_and_their_packets(
    driver: LocalDriver, chain: Deployment, tmp_path: Path
) -> None:
    probe = made(SdnMonQuery, entries=ENTRIES, queries=3, pause_s=0.1)
    probe.prepare(chain, tmp_path)
    try:
        send(driver, chain)
        found = probe.measure(chain, tmp_path)
    finally:
        probe.cleanup()
    values = {sample.metric: sample.value for sample in found.samples}
    assert values["packets"] == ENTRIES * EACH
    times_ms = found.series["query_ms"]
    assert len(times_ms) == 3
    assert 0 < min(times_ms) <= values["query_ms"] <= values["query_max_ms"] == max(times_ms)
    # The flows of the switch are as they were: it forwards.
    argv = ["ping", "-c", "1", "-W", "5", chain.server.address]
    assert chain.client.host.run(argv, timeout_s=10).returncode == 0


@pytest.mark.exhaustive
def test_it_measures_again(chain: Deployment, tmp_path: Path) -> None:
    for entries in (0, 10):
        probe = made(SdnMonQuery, entries=entries, queries=1, pause_s=0, buffers=bool(entries))
        try:
            probe.prepare(chain, tmp_path)
            probe.measure(chain, tmp_path)
        finally:
            probe.cleanup()


def test_a_slow_link(chain: Deployment, tmp_path: Path) -> None:
    """It carries entries, at least their keys of 13 bytes and counters, no faster than its rate;
    afterwards the loopback interface is as it was."""
    host = chain.switches["sff@node1"].host
    before = loopback(host)
    entries, rate_bps = 4000, 10_000_000
    probe = made(SdnMonQuery, entries=entries, queries=1, pause_s=0, link_rate_bps=rate_bps)
    try:
        probe.prepare(chain, tmp_path)
        found = probe.measure(chain, tmp_path)
    finally:
        probe.cleanup()
    values = {sample.metric: sample.value for sample in found.samples}
    assert values["query_bytes"] > entries * (13 + 16)
    # The first bytes of a bucket come at once.
    assert values["query_ms"] > 8e3 * 0.9 * values["query_bytes"] / rate_bps
    assert loopback(host) == before


def loopback(host: Host) -> str:
    """MTU and queue of a host's loopback interface."""
    return host.run(["ip", "-o", "link", "show", "lo"], timeout_s=5).text


@pytest.mark.parametrize("driver", ["ebpf"], indirect=True)
def test_a_chain_without_openflow(driver: LocalDriver, chain: Deployment, tmp_path: Path) -> None:
    probe = made(SdnMonQuery)
    with pytest.raises(CannotBeMeasured, match="OpenFlow"):
        probe.prepare(chain, tmp_path)
    probe.cleanup()


def test_keys_are_those_of_the_flows() -> None:
    layout = layout_of(FIELDS)
    found = udp_keys(layout, "10.0.0.1", "10.0.0.2", 9, PORTS + 2)
    for number in (0, 1, 700, PORTS - 1, PORTS, PORTS + 1):
        flow = {
            "ipv4_src": "10.0.0.1", "ipv4_dst": "10.0.0.2", "ip_proto": 17,
            "tp_src": FIRST_PORT + number % PORTS, "tp_dst": 9 + number // PORTS,
        }  # fmt: skip
        assert found[number] == key_of(layout, flow)
    assert len(set(found)) == PORTS + 2


def test_ports_for_all_entries() -> None:
    SdnMonQuery.check({"port": 65520, "entries": 1_000_000})
    with pytest.raises(InputError, match="up to 65536") as refused:
        SdnMonQuery.check({"port": 65521, "entries": 1_000_000})
    assert refused.value.allowed == "at most 65520"
