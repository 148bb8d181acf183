"""MachinePool: machines of a run, used by one scenario after the other."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.drivers.openstack.compute.guest import Guest
from sfcperf.drivers.openstack.model.specs import MachinePlan, MachineSpec, ResourceNames

Request = tuple[MachineSpec, str | None]
"""A machine that a scenario needs, and the address of an endpoint; None: the cloud chooses."""


class MachinePool:
    """Guests by machine name. Scenarios are deployed one at a time, so all guests are free when
    the next one begins."""

    def __init__(self, names: ResourceNames) -> None:
        self._names = names
        self._guests: dict[str, Guest] = {}
        self._planned: dict[str, MachinePlan] = {}
        """Plans of machines that do not run yet, by name. A second try finds by that name what the
        first one left."""
        self._made = 0
        """How many machines were planned so far; it numbers their names."""

    def assign(
        self, requests: Sequence[Request]
    ) -> tuple[list[Guest | MachinePlan], list[MachinePlan]]:
        """Return for each request a running guest that fits, or else the plan of a machine to be
        made, which may be one that an earlier try left; and the list of all these plans."""
        free = dict(self._guests)
        planned = dict(self._planned)
        chosen: list[Guest | MachinePlan] = []
        for spec, address in requests:
            found = next((g for g in free.values() if _fits(g.machine.plan, spec, address)), None)
            if found is not None:
                del free[found.name]
                chosen.append(found)
                continue
            plan = next((p for p in planned.values() if _fits(p, spec, address)), None)
            if plan is None:
                plan = self._plan(spec, address)
            planned.pop(plan.name, None)
            chosen.append(plan)
        return chosen, [each for each in chosen if isinstance(each, MachinePlan)]

    def _plan(self, spec: MachineSpec, address: str | None) -> MachinePlan:
        """Plan a new machine, and remember the plan until the machine runs or is dropped. If making
        it fails and leaves something, the next try uses the same name, and so finds what the first
        one left."""
        self._made += 1
        plan = MachinePlan(self._names.machine(self._made, spec.vnf), spec, address)
        self._planned[plan.name] = plan
        return plan

    def add(self, guest: Guest) -> None:
        """Keep a running guest, which scenarios may use from now on."""
        self._planned.pop(guest.name, None)
        self._guests[guest.name] = guest

    def drop(self, name: str) -> None:
        """Forget the machine of this name, running or planned."""
        self._planned.pop(name, None)
        self._guests.pop(name, None)

    @property
    def guests(self) -> list[Guest]:
        """All guests that run."""
        return list(self._guests.values())


def _fits(plan: MachinePlan, spec: MachineSpec, address: str | None) -> bool:
    return plan.spec == spec and plan.address == address
