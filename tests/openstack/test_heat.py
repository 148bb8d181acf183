"""The life cycle by heat, on the real cloud: stacks, another chain, nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.openstack_workshop import USER_DATA, endpoint, function, public_key, workshop

from sfcperf.drivers.openstack.cleanup import journal_cleanup
from sfcperf.drivers.openstack.lifecycle.base import Workshop
from sfcperf.drivers.openstack.lifecycle.heat import HeatLifecycle
from sfcperf.drivers.openstack.model.specs import ChainPlan
from sfcperf.drivers.openstack.network import networks
from sfcperf.workflow.model import Match

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def place(cloud: Any, leftovers: None, tmp_path: Path) -> Iterator[Workshop]:
    made = workshop(tmp_path)
    yield made
    made.cloud.close()
    journal_cleanup.demolish(made.journal.outstanding())


def test_machines_and_chains_are_stacks(place: Workshop, cloud: Any) -> None:
    life = HeatLifecycle(place)
    assert all(need.met for need in life.requirements(place.cloud, place.config))
    ground = networks.prepare_ground(place, USER_DATA, public_key(), "10.31.9.0/24")
    names = place.names
    plans = [endpoint(names, 1, "client", "10.31.9.1"), function(names, 2), function(names, 3)]

    machines = life.make(plans, ground)
    assert [m.server_id for m in life.make(plans, ground)] == [m.server_id for m in machines]
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
