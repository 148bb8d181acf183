"""The life cycle by heat, on the real cloud: stacks, another chain, nothing is left."""

from __future__ import annotations

from typing import Any

import pytest
from support.cloud.openstack_context import (
    USER_DATA,
    endpoint,
    function,
    public_key,
)

from sfcperf.drivers.openstack.lifecycle.heat import HeatLifecycle
from sfcperf.drivers.openstack.model.specs import ChainPlan
from sfcperf.drivers.openstack.network.networks import prepare_networks
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.workflow.model import Match

pytestmark = pytest.mark.exhaustive


def test_machines_and_chains_are_stacks(context: LifecycleContext, cloud: Any) -> None:
    life = HeatLifecycle(context)
    assert all(need.met for need in life.requirements(context.cloud, context.config))
    run_networks = prepare_networks(context, USER_DATA, public_key(), "10.31.9.0/24")
    names = context.names
    plans = [endpoint(names, 1, "client", "10.31.9.1"), function(names, 2), function(names, 3)]

    machines = life.make(plans, run_networks)
    assert [m.server_id for m in life.make(plans, run_networks)] == [m.server_id for m in machines]
    assert machines[0].ports["data"].address == "10.31.9.1"
    by_name = {machine.plan.name: machine for machine in machines}
    client, first, second = (plan.name for plan in plans)

    def through(functions: tuple[str, ...], match: Match) -> Any:
        facts = life.chain(ChainPlan(client, client, functions, match, False), by_name)
        return cloud.network.get_sfc_port_chain(facts["chain"])

    one = through((first,), Match())
    assert [chain.id for chain in cloud.network.sfc_port_chains()] == [one.id]
    other = through((second, first), Match("icmp"))
    assert [chain.id for chain in cloud.network.sfc_port_chains()] == [other.id]
    assert len(other.port_pair_groups) == 2
    (classifier,) = other.flow_classifiers
    assert cloud.network.get_sfc_flow_classifier(classifier).protocol == "icmp"

    life.unchain()
    assert not list(cloud.network.sfc_port_chains())
    life.remove(machines)
    assert not [stack.name for stack in cloud.orchestration.stacks()]
