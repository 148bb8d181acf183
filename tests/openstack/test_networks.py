"""Networks of a run on the real cloud: a management network of its own, behind a router."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cloud.cloud_runs import PLANNED, CloudLab, workflow
from support.cloud.openstack_context import USER_DATA, endpoint, lifecycle_context, public_key

from sfcperf.drivers.openstack.cleanup.journal_cleanup import clean_up
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.lifecycle.base import machine_resources
from sfcperf.drivers.openstack.network.networks import prepare_networks
from sfcperf.drivers.openstack.network.ports import ensure_floating_ip, ensure_ports

EXTERNAL_NETWORK = "external"

pytestmark = pytest.mark.exhaustive


def test_a_way_in_from_outside_is_made_once_and_goes(
    cloud: Any, leftovers: None, tmp_path: Path
) -> None:
    """A floating IP of the port of a machine to come: nothing boots."""
    external = {"management_network": None, "external_network": EXTERNAL_NETWORK}
    context = lifecycle_context(tmp_path, {**external, "dns_servers": ["192.0.2.53"]})
    try:
        key = public_key()
        run_networks = prepare_networks(context, USER_DATA, key, "192.168.213.0/24")
        again = prepare_networks(context, USER_DATA, key, "192.168.213.0/24")
        assert again == run_networks
        assert run_networks.security_groups == {}
        told = [
            subnet.dns_nameservers
            for network_id in (run_networks.data_id, run_networks.management_id)
            for subnet in cloud.network.subnets(network_id=network_id)
        ]
        assert told == [[], ["192.0.2.53"]]
        plan = endpoint(context.names, 1, "client", "192.168.213.1")
        context.intend(machine_resources(plan))
        machine = Machine(plan, "", ensure_ports(context, plan, run_networks), 0.0)
        # Not the network of the endpoints, whatever that is.
        assert not machine.ports["management"].address.startswith("192.168.213.")
        address = ensure_floating_ip(context, plan.name, machine.ports["management"])
        assert ensure_floating_ip(context, plan.name, machine.ports["management"]) == address
        [found] = cloud.network.ips(floating_ip_address=address)
        assert found.port_id == machine.ports["management"].id
    finally:
        context.cloud.close()
        lines = clean_up(context.journal.outstanding())
    assert {line.split()[0] for line in lines} == {
        *("floating-ip", "router", "port", "subnet", "network", "keypair"),
    }


@pytest.fixture
def one_floating_address(cloud: Any, admin: Any) -> Iterator[None]:
    """The project may have no more of them."""
    project = cloud.current_project_id
    before = admin.network.get_quota(project).floating_ips
    admin.network.update_quota(project, floating_ips=1)
    yield
    admin.network.update_quota(project, floating_ips=before)


def test_a_run_reaches_its_machines_through_the_client(
    cloud: Any, new_lab: Callable[..., CloudLab], one_floating_address: None
) -> None:
    """By its floating address; the others have none. The second scenario has another client, and
    all machines anew: the first one's address has gone."""
    document = workflow(cloud.config.name, external_network=EXTERNAL_NETWORK)
    del document["infrastructure"]["config"]["management_network"]
    client = {"resources": {"vcpus": 1, "memory_mib": "${memory}"}}
    changed = {"endpoints": {"client": client}, "factors": {"memory": [192, 256]}}
    document["chain"]["classifier"] = {"match": {"ip_proto": "any"}}
    lab = new_lab(document | changed)
    assert lab.run() == 0, lab.said
    assert lab.trials == [(trial, "valid") for trial in PLANNED]
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
