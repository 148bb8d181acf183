"""VNFs by Tacker's legacy API: a VNFD and a VNF for each machine.

Tacker maps a VNFD to one VNF of a forwarding graph, so machines of the same type need descriptors
of their own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.compute.placement import placement
from sfcperf.drivers.openstack.lifecycle import nova, tacker_vim, tacker_vnfd
from sfcperf.drivers.openstack.lifecycle.base import Ground, Machine, Workshop
from sfcperf.drivers.openstack.lifecycle.tacker_machine import FRESH, TackerFailed, machine
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.drivers.openstack.resources.tacker_objects import Found, found

REMOVAL_TIMEOUT_S = 300.0


class LegacyVnfs:
    """Functions of a run as VNFs; each has the name of its machine."""

    def __init__(self, workshop: Workshop, flavors: Flavors) -> None:
        self.workshop = workshop
        self.flavors = flavors
        self.server = TackerServer(workshop.cloud)

    def make(self, plans: Sequence[MachinePlan], ground: Ground) -> list[Machine]:
        """All of them at the same time. Raises DeploymentError with Tacker's reason."""
        descriptors = {
            plan.name: tacker_vnfd.translated(
                plan, ground, placement(self.workshop, self.flavors, plan.shape)
            )
            for plan in plans
        }
        vim = tacker_vim.ensured(self.server, self.workshop)
        self.workshop.journal.intend(
            [r for plan in plans for r in self.resources(plan)],
        )
        return each(*(partial(self._make, plan, descriptors[plan.name], vim) for plan in plans))

    def resources(self, plan: MachinePlan) -> list[Resource]:
        """What a machine is made of, in Tacker and, by way of heat, in the cloud."""
        cloud = self.workshop.cloud
        own = (Kind.VNF, Kind.VNFD, Kind.STACK)
        return [
            *(operations.resource(cloud, kind, plan.name) for kind in own),
            *nova.resources(cloud, plan),
        ]

    def made(self, plan: MachinePlan) -> list[Resource]:
        """The same: its stack has the VNF's name."""
        return self.resources(plan)

    def _make(self, plan: MachinePlan, descriptor: tacker_vnfd.Template, vim: str) -> Machine:
        cloud, name = self.workshop.cloud, plan.name
        started = time.monotonic()
        for attempt in range(FRESH + 1):
            vnfd = self._vnfd(name, descriptor)
            operations.ensure(cloud, Kind.VNF, name, partial(self._create_vnf, name, vnfd, vim))
            try:
                self._wait(name)
                break
            except TackerFailed as error:
                if attempt == FRESH:
                    raise
                self.workshop.log(f"openstack: {error.message}; making a new one")
                remove(cloud, Kind.VNF, name, REMOVAL_TIMEOUT_S)
        return machine(cloud, plan, time.monotonic() - started)

    def _vnfd(self, name: str, descriptor: tacker_vnfd.Template) -> str:
        body = {"vnfd": {"name": name, "attributes": {"vnfd": descriptor}}}

        def make() -> Found:
            return self.server.once(lambda client: found(client.create_vnfd(body)["vnfd"]))

        return operations.identity(operations.ensure(self.workshop.cloud, Kind.VNFD, name, make))

    def _create_vnf(self, name: str, vnfd: str, vim: str) -> Found:
        """Its stack gets the same name, so that it is found when Tacker forgets it."""
        attributes = {"stack_name": name}
        body = {"vnf": {"name": name, "vnfd_id": vnfd, "vim_id": vim, "attributes": attributes}}
        return self.server.once(lambda client: found(client.create_vnf(body)["vnf"]))

    def _wait(self, name: str) -> None:
        """Until ACTIVE."""
        timeout_s = self.workshop.config.boot_timeout_s

        def look() -> bool | None:
            vnf = next(iter(operations.thing(Kind.VNF).every(self.workshop.cloud, name)), None)
            if vnf is None:
                raise TackerFailed(f"VNF {name} is gone while it was waited for")
            if vnf.status in ("ERROR", "DEAD"):
                reason = self._reason(vnf)
                raise TackerFailed(f"VNF {name} is {vnf.status}: {reason}")
            return True if vnf.status == "ACTIVE" else None

        self.workshop.cloud.wait(f"waiting for VNF {name}", look, timeout_s)

    def _reason(self, vnf: Found) -> str:
        """The whole of it: lists are cut off after 100 characters."""
        shown = self.server.call(
            f"asking why VNF {vnf.name} failed", lambda client: client.show_vnf(vnf.id)["vnf"]
        )
        return found(shown).reason or "Tacker does not say why"


def remove(cloud: Cloud, kind: str, name: str, timeout_s: float) -> None:
    """Remove what Tacker has under this name, step by step, and return when it is gone."""

    def look() -> bool | None:
        there = list(operations.thing(kind).every(cloud, name))
        for thing in there:
            operations.thing(kind).delete(cloud, thing)
        return None if there else True

    cloud.wait(f"deleting {kind} {name}", look, timeout_s)
