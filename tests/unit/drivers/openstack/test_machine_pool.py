"""Which machines stand in for which, and what a failed try leaves to the next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from sfcperf.drivers.openstack.compute.guest import Guest
from sfcperf.drivers.openstack.compute.machine_pool import MachinePool
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.model.specs import MachinePlan, MachineSpec, ResourceNames

FORWARDER = MachineSpec("function", "fwd", "forwarder", "guest", None, 1, 256, None, None)
CLIENT = MachineSpec("endpoint", "client", "endpoint", "guest", None, 1, 256, None, None)


def running(plan: MachinePlan) -> Guest:
    machine = Machine(plan, "id", {}, 0.0)
    nobody = cast(Any, None)
    return Guest(machine, nobody, nobody, {}, 0.0, vcpus=1, memory_mib=200)


def pool() -> MachinePool:
    return MachinePool(ResourceNames("abc123"))


def test_who_stands_is_lent_again_and_the_rest_is_made() -> None:
    machines = pool()
    chosen, plans = machines.assign([(CLIENT, "10.0.0.1"), (FORWARDER, None)])
    assert chosen == plans
    assert [p.name for p in plans] == ["sfcperf-abc123-01-client", "sfcperf-abc123-02-fwd"]
    guests = [running(plan) for plan in plans]
    for guest in guests:
        machines.add(guest)
    chosen, plans = machines.assign([(CLIENT, "10.0.0.1"), (FORWARDER, None), (FORWARDER, None)])
    assert chosen[:2] == guests
    assert [plan.name for plan in plans] == ["sfcperf-abc123-03-fwd"]


def test_another_shape_or_address_is_another_machine() -> None:
    machines = pool()
    _, (plan, other) = machines.assign([(CLIENT, "10.0.0.1"), (FORWARDER, None)])
    machines.add(running(plan))
    machines.add(running(other))
    larger = replace(FORWARDER, vcpus=2)
    _, plans = machines.assign([(CLIENT, "10.0.0.9"), (larger, None)])
    assert len(plans) == 2


def test_plans_of_a_try_that_failed_are_found_again() -> None:
    machines = pool()
    wanted: list[tuple[MachineSpec, str | None]] = [(CLIENT, "10.0.0.1"), (FORWARDER, None)]
    _, first = machines.assign(wanted)
    _, again = machines.assign(wanted)
    assert first == again
    machines.drop(first[1].name)
    _, third = machines.assign(wanted)
    assert third[0] == first[0]
    assert third[1].name == "sfcperf-abc123-03-fwd"
