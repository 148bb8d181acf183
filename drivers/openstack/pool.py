"""Machines that stand, lent to one scenario after the other."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.drivers.openstack.guest import Guest
from sfcperf.drivers.openstack.names import Names
from sfcperf.drivers.openstack.plan import MachinePlan, Shape


class Pool:
    """Guests by machine name; at most one scenario stands at a time, so all of them are free when
    it begins."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._guests: dict[str, Guest] = {}
        self._made = 0

    def assign(
        self, wanted: Sequence[tuple[Shape, str | None]]
    ) -> tuple[list[Guest | MachinePlan], list[MachinePlan]]:
        """For each shape (with the address of an endpoint) a guest that stands, or the plan of one
        to be made; and those plans once more."""
        free = dict(self._guests)
        chosen: list[Guest | MachinePlan] = []
        for shape, address in wanted:
            found = next((g for g in free.values() if _fits(g.machine.plan, shape, address)), None)
            if found is not None:
                del free[found.name]
                chosen.append(found)
            else:
                self._made += 1
                name = self._names.machine(self._made, shape.vnf)
                chosen.append(MachinePlan(name, shape, address))
        return chosen, [each for each in chosen if isinstance(each, MachinePlan)]

    def add(self, guest: Guest) -> None:
        """It may be lent from now on."""
        self._guests[guest.name] = guest

    def drop(self, guest: Guest) -> None:
        """It is lent no more."""
        self._guests.pop(guest.name, None)

    @property
    def guests(self) -> list[Guest]:
        """All that stand."""
        return list(self._guests.values())


def _fits(plan: MachinePlan, shape: Shape, address: str | None) -> bool:
    return plan.shape == shape and plan.address == address
