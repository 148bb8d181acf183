"""VNFs by ETSI's interfaces (SOL003 and SOL005): a package and an instance for each machine.

For Tacker servers without the legacy API. They have no forwarding graphs either, so the chain is
made by networking-sfc, without Tacker.
"""

from __future__ import annotations

from typing import Any

from sfcperf.drivers.openstack.compute.flavors import Placement
from sfcperf.drivers.openstack.lifecycle import tacker_hot, tacker_package
from sfcperf.drivers.openstack.lifecycle.tacker_vnfs import TackerFailed, TackerVnfs
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.context import Kind, NamedResource
from sfcperf.drivers.openstack.resources.tacker_objects import (
    INSTANTIATED,
    PACKAGE_NAME,
    TackerObject,
    lcm_operations,
)

ONBOARDING_TIMEOUT_S = 120.0
VIM_TYPE = "ETSINFV.OPENSTACK_KEYSTONE.V_3"


class EtsiVnfs(TackerVnfs):
    """Makes functions as VNF instances of `vnflcm`, each from a package of its own."""

    kinds = (Kind.VNF_INSTANCE, Kind.VNF_PACKAGE)

    def made_resources(self, plan: MachinePlan) -> list[NamedResource]:
        """Return `resources`, and the heat stacks of the machine's VNF instances, whose names
        Tacker chooses."""
        instances = operations.find(self.context.cloud, Kind.VNF_INSTANCE, plan.name)
        return [*self.resources(plan), *(_stack(instance.id) for instance in instances)]

    def document(self, plan: MachinePlan, networks: RunNetworks, place: Placement) -> bytes:
        """Build the VNF package, a ZIP file, around the machine's heat template."""
        hot = tacker_hot.machine(plan, networks, place, self.context.names.tag)
        return tacker_package.package(plan.name, plan.spec.ports, hot)

    def onboard(self, name: str, document: bytes) -> str:
        """Create and upload the package, wait until it is ONBOARDED, and return its VNFD's id;
        raises TackerFailed if Tacker rejects it. A package that is there is used: its name belongs
        to one machine of one run, so that it has the same content."""
        cloud = self.context.cloud
        body = {"userDefinedData": {PACKAGE_NAME: name}}

        def make() -> TackerObject:
            made = self.server.once(lambda client: client.create_vnf_package(body))
            return TackerObject(made["id"], name, made["onboardingState"])

        made = operations.ensure(cloud, Kind.VNF_PACKAGE, name, make)
        if made.status == "CREATED":
            self.server.call(
                f"uploading VNF package {name}",
                lambda client: client.upload_vnf_package(made.id, file_data=document),
            )

        def look() -> bool | None:
            shown = self.server.once(lambda client: client.show_vnf_package(made.id))
            state = shown["onboardingState"]
            if state in ("CREATED", "ERROR"):
                # Tacker refuses a package by going back to CREATED; later releases give a reason.
                failure = shown.get("onboardingFailureDetails") or {}
                reason = failure.get("detail") or "it gives no reason; its conductor's log does"
                raise TackerFailed(f"Tacker rejects VNF package {name}: {reason}")
            return True if state == "ONBOARDED" else None

        cloud.wait(f"waiting for VNF package {name}", look, ONBOARDING_TIMEOUT_S)
        return tacker_package.vnfd_id(name)

    def instantiate(self, name: str, descriptor: str, vim: str) -> None:
        """Create a VNF instance, journal its stack, and wait until `vnflcm` has instantiated it.
        Raises TackerFailed with Tacker's reason."""
        cloud, body = self.context.cloud, {"vnfdId": descriptor, "vnfInstanceName": name}

        def make() -> TackerObject:
            made = self.server.once(lambda client: client.create_vnf_instance(body))
            return TackerObject(made["id"], name, made["instantiationState"])

        instance = operations.ensure(cloud, Kind.VNF_INSTANCE, name, make)
        # A Tacker that forgets the instance leaves its stack, so the journal must have it.
        self.context.intend([_stack(instance.id)])
        what = f"instantiating VNF {name}"
        request = {
            "flavourId": tacker_package.FLAVOUR,
            "vimConnectionInfo": {"vim": {"vimId": vim, "vimType": VIM_TYPE}},
        }

        # To instantiate is no resource: that it was requested shows in the instance's operations.
        def requested() -> bool | None:
            return True if lcm_operations(cloud, instance.id) else None

        def request_it() -> bool:
            self.server.once(lambda client: client.instantiate_vnf_instance(instance.id, request))
            return True

        def look() -> bool | None:
            shown = self.server.once(lambda client: client.show_vnf_instance(instance.id))
            if shown["instantiationState"] == INSTANTIATED:
                return True
            last = next(reversed(lcm_operations(cloud, instance.id)), None)
            if last is None or not last["operationState"].startswith(("FAILED", "ROLLED")):
                return None
            occurrence = self.server.once(lambda client: client.show_vnf_lcm_op_occs(last["id"]))
            raise TackerFailed(f"{what} ended in {last['operationState']}: {_problem(occurrence)}")

        cloud.ensure(what, requested, request_it)
        cloud.wait(what, look, self.context.config.boot_timeout_s)


def _stack(instance_id: str) -> NamedResource:
    """Return kind and name of an instance's stack in heat; Tacker chooses the name."""
    return Kind.STACK, f"vnf-{instance_id}"


def _problem(occurrence: dict[str, Any]) -> str:
    """Return the reason for which an operation failed, from its ProblemDetails (RFC 9457)."""
    problem = occurrence.get("error") or {}
    reason = problem.get("detail") or problem.get("title") or "Tacker gives no reason"
    return " ".join(str(reason).split())
