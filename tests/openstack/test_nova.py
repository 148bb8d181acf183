"""Machines, chain and removal by nova and networking-sfc, on the real cloud."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from support.cloud.openstack_context import (
    USER_DATA,
    endpoint,
    function,
    public_key,
)
from support.cloud.openstack_project import inventory

from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.cleanup.journal_cleanup import clean_up
from sfcperf.drivers.openstack.compute.flavors import Flavors, placement
from sfcperf.drivers.openstack.compute.servers import console
from sfcperf.drivers.openstack.lifecycle.base import machine_resources
from sfcperf.drivers.openstack.lifecycle.nova import NovaLifecycle
from sfcperf.drivers.openstack.model.specs import ChainPlan
from sfcperf.drivers.openstack.network.networks import RunNetworks, prepare_networks
from sfcperf.drivers.openstack.network.ports import ensure_ports
from sfcperf.drivers.openstack.planning.quota import check_quota
from sfcperf.drivers.openstack.planning.requirements import requirements
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.errors import EnvironmentLacks
from sfcperf.workflow.model import Match


@pytest.fixture
def run_networks(context: LifecycleContext) -> RunNetworks:
    return prepare_networks(context, USER_DATA, public_key(), "10.31.7.0/24")


def test_a_chain_from_nothing_to_nothing(
    context: LifecycleContext, run_networks: RunNetworks, cloud: Any
) -> None:
    """One boot for all of it: VMs are slow here."""
    names = context.names
    client = endpoint(names, 1, "client", "10.31.7.1")
    server = endpoint(names, 2, "server", "10.31.7.2")
    fwd = function(names, 3)
    own = "#!/bin/sh\necho 'sfcperf-test: so did its own' >/dev/console\n"
    fwd = replace(fwd, spec=replace(fwd.spec, user_data=own))
    life = NovaLifecycle(context)
    machines = life.make([client, server, fwd], run_networks)

    by_name = {machine.plan.name: machine for machine in machines}
    assert machines[0].ports["data"].address == "10.31.7.1"
    for machine in machines:
        found = cloud.compute.get_server(machine.server_id)
        assert found.status == "ACTIVE"
        assert found.metadata["sfcperf-run"] == names.tag
        for port in machine.ports.values():
            assert cloud.network.get_port(port.id).device_id == machine.server_id
    assert [m.server_id for m in life.make([client, server, fwd], run_networks)] == [
        m.server_id for m in machines
    ]

    def through(match: Match, *, symmetric: bool) -> Any:
        return life.chain(
            ChainPlan(client.name, server.name, (fwd.name,), match, symmetric), by_name
        )

    both_ways = through(Match("icmp"), symmetric=True)
    standing = cloud.network.get_sfc_port_chain(both_ways["chain"])
    assert standing.chain_parameters["symmetric"] is True
    one_way = through(Match("tcp", destination_port=80), symmetric=False)
    assert one_way["chain"] != both_ways["chain"]
    assert [c.id for c in cloud.network.sfc_port_chains(name=names.run)] == [one_way["chain"]]

    end = time.monotonic() + context.config.boot_timeout_s
    wanted = {"sfcperf-test: user data ran", "sfcperf-test: so did its own"}
    while missing := {
        words
        for words in wanted
        if words not in console(context.cloud, by_name[fwd.name].server_id)
    }:
        assert time.monotonic() < end, f"the guest did not print {missing}"
        time.sleep(1)

    life.unchain()
    life.remove([by_name[fwd.name]])
    assert not list(cloud.network.ports(name=fwd.port_name("in")))
    assert not list(cloud.network.sfc_port_pairs(name=fwd.name))


def test_ports_of_a_machine_are_made_once(
    context: LifecycleContext, run_networks: RunNetworks, cloud: Any
) -> None:
    """What others name, and what hangs on our ports, goes with them: here a classifier."""
    plan = function(context.names, 1)
    context.intend(machine_resources(plan))
    made = ensure_ports(context, plan, run_networks)
    assert ensure_ports(context, plan, run_networks) == made
    assert len(list(cloud.network.ports(network_id=run_networks.data_id))) == 2
    security = cloud.network.get_port(made["in"].id)
    assert security.is_port_security_enabled is False
    management = cloud.network.get_port(made["management"].id)
    assert list(run_networks.security_groups) == [run_networks.management_id]
    assert management.security_group_ids == [
        run_networks.security_groups[run_networks.management_id]
    ]
    cloud.network.create_sfc_flow_classifier(
        name="x7", ethertype="IPv4", logical_source_port=made["in"].id
    )
    clean_up(context.journal.outstanding())
    assert not list(cloud.network.sfc_flow_classifiers(name="x7"))


def test_neighbours_with_similar_names_stay(
    context: LifecycleContext, run_networks: RunNetworks, cloud: Any, request: pytest.FixtureRequest
) -> None:
    """A dry run first, which changes nothing."""
    for name in (f"{context.names.run}-data2", f"{context.names.run}x-data"):
        made = cloud.network.create_network(name=name)
        request.addfinalizer(lambda id_=made.id: cloud.network.delete_network(id_))
    outstanding = context.journal.outstanding()
    would = clean_up(outstanding, dry_run=True)
    assert cloud.network.get_network(run_networks.data_id).name == f"{context.names.run}-data"
    assert set(clean_up(outstanding)) == set(would)
    left = {net.name for net in cloud.network.networks(project_id=cloud.current_project_id)}
    assert {n for n in left if n.startswith(context.names.run)} == {
        f"{context.names.run}-data2",
        f"{context.names.run}x-data",
    }


def test_what_the_cloud_offers_and_lacks(context: LifecycleContext, admin: Any) -> None:
    """An ordinary user may neither make flavors nor choose hypervisors; what the driver may make
    can be listed."""
    config, cloud = context.config, context.cloud
    of_tacker = {"Tacker's vnffgs", "Tacker's vnf instances", "Tacker's vnf packages"}
    assert {"servers", "port chains", "stacks", *of_tacker} <= inventory(admin).keys()
    offered = requirements(config)
    assert [need for need in offered if not need.met] == []
    assert {"nova", "neutron", "glance", "neutron extension sfc"} <= {r.name for r in offered}
    nothing = replace(config, image="nothing", flavor="nothing", management_network="nothing")
    missing = {need.name for need in requirements(nothing) if not need.met}
    assert missing == {"image nothing", "flavor nothing", "network nothing"}

    placed = {r.name: r for r in requirements(replace(config, hosts={"node1": "sfcperf-node"}))}
    refused = placed["placement on hypervisors"]
    assert not refused.met and "administrator" in refused.remedy
    hosts = {"a": "sfcperf-node", "b": "no"}
    found = {r.name: r for r in requirements(replace(config, cloud=admin.config.name, hosts=hosts))}
    assert found["hypervisor sfcperf-node"].met
    assert not found["hypervisor no"].met and "sfcperf-node" in found["hypervisor no"].detail

    spec = function(context.names, 1).spec
    with pytest.raises(EnvironmentLacks, match="no flavor of the cloud") as caught:
        placement(context, Flavors(cloud), replace(spec, vcpus=64, flavor=None))
    assert "sfcperf.large (2 vCPU, 1024 MiB)" in (caught.value.allowed or "")
    check_quota(cloud, {spec: 3}, config, own_data=True)
    with pytest.raises(EnvironmentLacks, match="VMs: 100000 needed") as caught:
        check_quota(cloud, {spec: 100000}, config, own_data=True)
    for what in ("vCPUs", "MiB of memory", "ports", "port pairs", "port pair groups"):
        assert f"{what}: " in caught.value.message
    assert "port chains" not in caught.value.message
    with pytest.raises(CloudError, match="reading the console of server nothing") as unknown:
        console(cloud, "nothing")
    assert unknown.value.status == 404
