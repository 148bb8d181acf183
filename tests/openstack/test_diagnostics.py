"""What nova says of the VMs of a real chain, held to what they say of themselves."""

from __future__ import annotations

import os
import random
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.cloud.cloud_runs import CONFIG
from support.cloud.openstack_project import inventory, settled
from support.local import ListJournal
from support.records.scenarios import scenario

from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.openstack.driver import OpenStackDriver
from sfcperf.hosts.procfs import interface_counters
from sfcperf.management.deployment import Deployment
from sfcperf.passive.diagnostics import DiagnosticsMonitor
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.exhaustive

WORK = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"]
PACKETS = 20


@pytest.fixture(scope="module")
def deployment(
    cloud: Any, admin: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """Client, forwarder, server."""
    before = inventory(cloud)
    tag = "".join(random.choices(string.ascii_lowercase + string.digits, k=6))
    folder = tmp_path_factory.mktemp("diagnostics")
    for name in ("state", "raw"):
        (folder / name).mkdir()
    names = {"cloud": os.environ.get("OS_CLOUD", "sfcperf"), "telemetry_cloud": admin.config.name}
    config = with_defaults(OpenStackDriver.parameters, {**CONFIG, **names})
    journal = ListJournal()
    made = OpenStackDriver(
        DriverContext("test", tag, config, journal, folder / "state", folder / "raw", print)
    )
    try:
        yield made.deploy(scenario(["forwarder"]))
    finally:
        made.close()
    assert journal.outstanding() == []
    assert not settled(before, lambda: inventory(cloud))


def outside(deployment: Deployment) -> Mapping[str, Mapping[str, float]]:
    return {name: dict(ask()) for name, ask in deployment.diagnostics.items()}


def test_cpu_time_and_memory_are_those_of_a_vm(deployment: Deployment) -> None:
    before = outside(deployment)
    deployment.client.host.run(WORK, timeout_s=120)
    after = outside(deployment)
    rise = {name: after[name]["cpu_s"] - before[name]["cpu_s"] for name in after}
    assert rise["client"] > 0
    assert rise["client"] > rise["server"]
    for values in after.values():
        limit = values["memory_limit_bytes"]
        assert limit % (1 << 20) == 0
        # With what its hypervisor holds beside it.
        assert 16 << 20 < values["memory_bytes"] < limit + (512 << 20)


def test_network_counters_are_the_guests_own(deployment: Deployment) -> None:
    client = deployment.client

    def both() -> tuple[Mapping[str, float], Any]:
        counted = interface_counters(client.host.read_text("/proc/net/dev"))
        return deployment.diagnostics["client"](), counted[client.interface]

    first, guest_first = both()
    ping = ["ping", "-n", "-c", str(PACKETS), "-i", "0.1", "-s", "1000", deployment.server.address]
    client.host.run(ping, timeout_s=120)
    last, guest_last = both()
    guest = guest_last - guest_first
    rise = {name: last[name] - first[name] for name in last if name.startswith("data/")}
    assert guest.tx_packets >= PACKETS
    # Between the two looks the guest may have something of its own to say (IPv6).
    assert rise["data/tx_packets"] == pytest.approx(guest.tx_packets, abs=3)
    assert rise["data/tx_bytes"] == pytest.approx(guest.tx_bytes, abs=300)
    # The hypervisor counts what the guest's card leaves out: frames for others.
    assert rise["data/rx_packets"] >= PACKETS
    assert rise["data/rx_bytes"] >= PACKETS * 1028
    assert rise["data/rx_drops"] == 0


def test_the_monitor_writes_telemetry(deployment: Deployment, tmp_path: Path) -> None:
    monitor = DiagnosticsMonitor({"interval_s": 1})
    monitor.start(deployment, tmp_path)
    deployment.client.host.run(WORK, timeout_s=120)
    told = monitor.stop()
    assert [path.read_text() for path in tmp_path.iterdir()] == []
    metrics = {(o.source, o.metric) for o in told}
    assert ("client", "outside_cpu_s") in metrics
    assert ("server/management", "outside_rx_packets_total") in metrics
    (total,) = (o for o in told if (o.source, o.metric) == ("client", "outside_cpu_s_total"))
    assert total.value > 0
