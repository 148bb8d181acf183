"""VNFs by ETSI's interfaces (SOL003 and SOL005): a package and an instance for each machine.

For Tacker servers without the legacy API. They have no forwarding graphs either: the chain is
networking-sfc's, without Tacker.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.compute.placement import placement
from sfcperf.drivers.openstack.lifecycle import heat_template, nova, tacker_package, tacker_vim
from sfcperf.drivers.openstack.lifecycle.base import Ground, Machine, Workshop
from sfcperf.drivers.openstack.lifecycle.tacker_machine import FRESH, TackerFailed, machine
from sfcperf.drivers.openstack.lifecycle.tacker_vnf import REMOVAL_TIMEOUT_S, remove
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.network import ports
from sfcperf.drivers.openstack.resources import operations, tacker_objects
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.drivers.openstack.resources.tacker_objects import INSTANTIATED, Found

ONBOARDING_TIMEOUT_S = 120.0
VIM_TYPE = "ETSINFV.OPENSTACK_KEYSTONE.V_3"


class EtsiVnfs:
    """Functions of a run as instances of `vnflcm`; each has the name of its machine."""

    def __init__(self, workshop: Workshop, flavors: Flavors) -> None:
        self.workshop = workshop
        self.flavors = flavors
        self.server = TackerServer(workshop.cloud)

    def make(self, plans: Sequence[MachinePlan], ground: Ground) -> list[Machine]:
        """All of them at the same time. Raises DeploymentError with Tacker's reason."""
        packages = {plan.name: self._package(plan, ground) for plan in plans}
        vim = tacker_vim.ensured(self.server, self.workshop)
        self.workshop.journal.intend([r for plan in plans for r in self.resources(plan)])
        return each(*(partial(self._make, plan, packages[plan.name], vim) for plan in plans))

    def resources(self, plan: MachinePlan) -> list[Resource]:
        """What a machine is made of, in Tacker and, by way of heat, in the cloud."""
        cloud = self.workshop.cloud
        own = (Kind.VNF_INSTANCE, Kind.VNF_PACKAGE)
        return [
            *(operations.resource(cloud, kind, plan.name) for kind in own),
            *nova.resources(cloud, plan),
        ]

    def made(self, plan: MachinePlan) -> list[Resource]:
        """The same, with the stacks that have names of Tacker's choice."""
        cloud = self.workshop.cloud
        instances = operations.every(cloud, Kind.VNF_INSTANCE, plan.name)
        return [*self.resources(plan), *(_stack(cloud, each.id) for each in instances)]

    def _package(self, plan: MachinePlan, ground: Ground) -> bytes:
        place = placement(self.workshop, self.flavors, plan.shape)
        hot = heat_template.machine(plan, ground, place, self.workshop.names.tag)
        return tacker_package.package(plan.name, ports.roles(plan), hot)

    def _make(self, plan: MachinePlan, package: bytes, vim: str) -> Machine:
        cloud, name = self.workshop.cloud, plan.name
        started = time.monotonic()
        self._onboard(name, package)
        for attempt in range(FRESH + 1):
            instance = operations.ensure(
                cloud, Kind.VNF_INSTANCE, name, partial(self._create, name)
            )
            # A Tacker that forgets the instance leaves its stack.
            self.workshop.journal.intend([_stack(cloud, instance.id)])
            try:
                self._instantiate(instance, vim)
                break
            except TackerFailed as error:
                if attempt == FRESH:
                    raise
                self.workshop.log(f"openstack: {error.message}; making a new one")
                remove(cloud, Kind.VNF_INSTANCE, name, REMOVAL_TIMEOUT_S)
        return machine(cloud, plan, time.monotonic() - started)

    def _onboard(self, name: str, package: bytes) -> None:
        """A package that is there already has the same content: names are of one run, and a
        machine is planned once."""
        cloud = self.workshop.cloud
        body = {"userDefinedData": {tacker_objects.PACKAGE_NAME: name}}

        def make() -> Found:
            made = self.server.once(lambda client: client.create_vnf_package(body))
            return Found(made["id"], name, made["onboardingState"], "")

        made = operations.ensure(cloud, Kind.VNF_PACKAGE, name, make)
        if made.status == "CREATED":
            self.server.call(
                f"uploading VNF package {name}",
                lambda client: client.upload_vnf_package(made.id, file_data=package),
            )

        def look() -> bool | None:
            shown = self.server.once(lambda client: client.show_vnf_package(made.id))
            state = shown["onboardingState"]
            if state in ("CREATED", "ERROR"):
                # Back to the beginning is Tacker's way of refusing; later releases say why.
                raise TackerFailed(f"Tacker refuses VNF package {name}: {_onboarding_error(shown)}")
            return True if state == "ONBOARDED" else None

        cloud.wait(f"waiting for VNF package {name}", look, ONBOARDING_TIMEOUT_S)

    def _create(self, name: str) -> Found:
        body = {"vnfdId": tacker_package.vnfd_id(name), "vnfInstanceName": name}
        made = self.server.once(lambda client: client.create_vnf_instance(body))
        return Found(made["id"], name, made["instantiationState"], "")

    def _instantiate(self, instance: Found, vim: str) -> None:
        """Ask when it was not asked yet, and wait."""
        body = {
            "flavourId": tacker_package.FLAVOUR,
            "vimConnectionInfo": {"vim": {"vimId": vim, "vimType": VIM_TYPE}},
        }
        what = f"instantiating VNF {instance.name}"

        def asked() -> bool | None:
            return True if tacker_objects.operations(self.workshop.cloud, instance.id) else None

        def ask() -> bool:
            self.server.once(lambda client: client.instantiate_vnf_instance(instance.id, body))
            return True

        self.workshop.cloud.ensure(what, asked, ask)
        self.workshop.cloud.wait(
            what, partial(self._look, instance), self.workshop.config.boot_timeout_s
        )

    def _look(self, instance: Found) -> bool | None:
        cloud = self.workshop.cloud
        shown = self.server.once(lambda client: client.show_vnf_instance(instance.id))
        if shown["instantiationState"] == INSTANTIATED:
            return True
        last = next(reversed(tacker_objects.operations(cloud, instance.id)), None)
        if last is not None and last["operationState"].startswith(("FAILED", "ROLLED")):
            occurrence = self.server.once(lambda client: client.show_vnf_lcm_op_occs(last["id"]))
            raise TackerFailed(
                f"instantiating VNF {instance.name} ended in {last['operationState']}: "
                f"{_problem(occurrence)}"
            )
        return None


def _stack(cloud: Cloud, instance_id: str) -> Resource:
    return operations.resource(cloud, Kind.STACK, f"vnf-{instance_id}")


def _problem(occurrence: dict[str, Any]) -> str:
    """ProblemDetails of an operation (RFC 9457)."""
    problem = occurrence.get("error") or {}
    told = problem.get("detail") or problem.get("title") or "Tacker does not say why"
    return " ".join(str(told).split())


def _onboarding_error(shown: dict[str, Any]) -> str:
    failure = shown.get("onboardingFailureDetails") or {}
    return str(failure.get("detail") or "it does not say why; its conductor's log does")
