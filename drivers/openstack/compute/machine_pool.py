"""Machines that stand, lent to one scenario after the other."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.drivers.openstack.compute.guest import Guest
from sfcperf.drivers.openstack.model.names import Names
from sfcperf.drivers.openstack.model.specs import MachinePlan, Shape


class Pool:
    """Guests by machine name; at most one scenario stands at a time, so all of them are free when
    it begins."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._guests: dict[str, Guest] = {}
        self._planned: dict[str, MachinePlan] = {}
        """Not standing yet: what came of an earlier try to make them is found again by name."""
        self._made = 0

    def assign(
        self, wanted: Sequence[tuple[Shape, str | None]]
    ) -> tuple[list[Guest | MachinePlan], list[MachinePlan]]:
        """For each shape (with the address of an endpoint) a guest that stands, or the plan of one
        to be made; and those plans once more."""
        free = dict(self._guests)
        planned = dict(self._planned)
        chosen: list[Guest | MachinePlan] = []
        for shape, address in wanted:
            found = next((g for g in free.values() if _fits(g.machine.plan, shape, address)), None)
            if found is not None:
                del free[found.name]
                chosen.append(found)
                continue
            plan = next((p for p in planned.values() if _fits(p, shape, address)), None)
            if plan is None:
                plan = self._plan(shape, address)
            planned.pop(plan.name, None)
            chosen.append(plan)
        return chosen, [each for each in chosen if isinstance(each, MachinePlan)]

    def _plan(self, shape: Shape, address: str | None) -> MachinePlan:
        self._made += 1
        plan = MachinePlan(self._names.machine(self._made, shape.vnf), shape, address)
        self._planned[plan.name] = plan
        return plan

    def add(self, guest: Guest) -> None:
        """It may be lent from now on."""
        self._planned.pop(guest.name, None)
        self._guests[guest.name] = guest

    def drop(self, name: str) -> None:
        """A machine of this name is lent no more, nor made."""
        self._planned.pop(name, None)
        self._guests.pop(name, None)

    @property
    def guests(self) -> list[Guest]:
        """All that stand."""
        return list(self._guests.values())


def _fits(plan: MachinePlan, shape: Shape, address: str | None) -> bool:
    return plan.shape == shape and plan.address == address
