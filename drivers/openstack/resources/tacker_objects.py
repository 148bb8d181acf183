"""How objects of a Tacker server are found by name, and deleted.

Tacker cannot always delete. A VNF that is being made must lose its stack first (Tacker then calls
it ERROR); a VNF in PENDING_DELETE whose Tacker was restarted stays so, unless an administrator
forces its deletion; a failed operation of `vnflcm` must be rolled back. Each `delete` takes the
next step that helps, and is called until the object is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.resource_types import ResourceType, one_by_one

PENDING_CREATE, PENDING_DELETE = "PENDING_CREATE", "PENDING_DELETE"
INSTANTIATED = "INSTANTIATED"

PACKAGE_NAME = "sfcperf"
"""Key in a package's user data for its name: packages have no name of their own."""


@dataclass(frozen=True)
class TackerObject:
    """An object in Tacker."""

    id: str
    name: str
    status: str = ""
    """Empty if it has none."""
    reason: str = ""
    """Why it is in ERROR, in Tacker's words, which lists may cut off."""
    stack: str | None = None
    """Id of a VNF's stack in heat."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Make it from an answer of the legacy API."""
        return cls(
            body["id"],
            body.get("name") or "",
            body.get("status") or "",
            " ".join((body.get("error_reason") or "").split()),
            body.get("instance_id"),
        )


def _legacy(
    kind: str, delete: Callable[[Cloud, TackerObject], object] | None = None
) -> ResourceType:
    """Find and delete by tackerclient's calls `list_KINDs` and `delete_KIND`, or by `delete` if it
    is given."""

    def listing(cloud: Cloud, name: str) -> Iterable[TackerObject]:
        bodies = TackerServer(cloud).once(
            lambda client: getattr(client, f"list_{kind}s")(name=name)[f"{kind}s"]
        )
        return [TackerObject.of(body) for body in bodies if body.get("name") == name]

    def default(cloud: Cloud, found: TackerObject) -> None:
        _unless_gone(cloud, lambda client: getattr(client, f"delete_{kind}")(found.id))

    return one_by_one(listing, delete or default)


def _unless_gone(cloud: Cloud, action: Callable[[Any], object]) -> None:
    """Call `action` with a client of Tacker; nothing is raised if its object is gone (404)."""
    from openstack.exceptions import NotFoundException

    with suppress(NotFoundException):
        TackerServer(cloud).once(action)


def _delete_vnf(cloud: Cloud, vnf: TackerObject) -> None:
    """Take the next step towards deleting a VNF. One that is being made loses its stack; one in
    PENDING_DELETE whose stack is gone is forced."""
    if vnf.status not in (PENDING_CREATE, PENDING_DELETE):
        _unless_gone(cloud, lambda client: client.delete_vnf(vnf.id))
        return
    heat = cloud.connection.orchestration
    # The run's VNFs have stacks of the same name.
    stack = heat.find_stack(vnf.stack or vnf.name, ignore_missing=True)
    if vnf.status == PENDING_CREATE:
        if stack is not None and not stack.status.startswith("DELETE_"):
            heat.delete_stack(stack, ignore_missing=True)
    elif stack is None or stack.status == "DELETE_COMPLETE":
        _force(cloud, vnf)


def _force(cloud: Cloud, vnf: TackerObject) -> None:
    """Force the deletion of a VNF. Only administrators may; others wait for Tacker to recover."""
    from openstack.exceptions import HttpException

    body = {"vnf": {"attributes": {"force": True}}}
    with suppress(HttpException):
        TackerServer(cloud).once(lambda client: client.delete_vnf(vnf.id, body=body))


def _listed(bodies: Any, key: str) -> list[Mapping[str, Any]]:
    """Return the list in an answer: tackerclient gives some lists bare, and some in a mapping."""
    listed: list[Mapping[str, Any]] = bodies[key] if isinstance(bodies, dict) else bodies
    return listed


def _instances(cloud: Cloud, name: str) -> list[TackerObject]:
    """Instances of `vnflcm` with exactly this name."""
    bodies = TackerServer(cloud).once(
        lambda client: client.list_vnf_instances(filter=f"(eq,vnfInstanceName,{name})")
    )
    return [
        TackerObject(body["id"], name, body["instantiationState"])
        for body in _listed(bodies, "vnf_instances")
        if body.get("vnfInstanceName") == name
    ]


def lcm_operations(cloud: Cloud, instance_id: str) -> list[Mapping[str, Any]]:
    """Return the operations of `vnflcm` on an instance, as ETSI's LcmOpOcc, oldest first; without
    retries."""
    bodies = TackerServer(cloud).once(
        lambda client: client.list_vnf_lcm_op_occs(filter=f"(eq,vnfInstanceId,{instance_id})")
    )
    occurrences = _listed(bodies, "vnf_lcm_op_occs")
    of_instance = [body for body in occurrences if body.get("vnfInstanceId") == instance_id]
    return sorted(of_instance, key=lambda body: str(body.get("startTime") or ""))


def _delete_instance(cloud: Cloud, instance: TackerObject) -> None:
    """Take the next step towards deleting an instance: settle its failed operation, terminate it,
    or delete it. While an operation goes on, wait."""
    last = next(reversed(lcm_operations(cloud, instance.id)), None)
    state = last["operationState"] if last is not None else ""
    if state in ("STARTING", "PROCESSING", "ROLLING_BACK"):
        return
    if last is not None and state == "FAILED_TEMP":
        occurrence, operation = last["id"], last["operation"]
        settle = "rollback_vnf_instance" if operation == "INSTANTIATE" else "fail_vnf_instance"
        _unless_gone(cloud, lambda client: getattr(client, settle)(occurrence))
    elif instance.status == INSTANTIATED:
        how = {"terminationType": "FORCEFUL"}
        _unless_gone(cloud, lambda client: client.terminate_vnf_instance(instance.id, how))
    else:
        _unless_gone(cloud, lambda client: client.delete_vnf_instance(instance.id))


def _packages(cloud: Cloud, name: str) -> list[TackerObject]:
    """VNF packages with exactly this name in their user data."""
    # Lists leave the user data out, unless all fields are asked for.
    bodies = TackerServer(cloud).once(lambda client: client.list_vnf_packages(all_fields=None))
    return [
        TackerObject(body["id"], name, body["onboardingState"])
        for body in bodies["vnf_packages"]
        if (body.get("userDefinedData") or {}).get(PACKAGE_NAME) == name
    ]


def _delete_package(cloud: Cloud, package: TackerObject) -> None:
    """Disable a package, because only a package that is disabled can be deleted, then delete it."""
    if package.status == "ONBOARDED":
        from openstack.exceptions import HttpException

        disabled = {"operationalState": "DISABLED"}
        with suppress(HttpException):  # it is disabled already
            TackerServer(cloud).once(lambda client: client.update_vnf_package(package.id, disabled))
    _unless_gone(cloud, lambda client: client.delete_vnf_package(package.id))


TYPES: Mapping[Kind, ResourceType] = {
    Kind.VNFFG: _legacy("vnffg"),
    Kind.VNFFGD: _legacy("vnffgd"),
    Kind.VNF: _legacy("vnf", _delete_vnf),
    Kind.VNFD: _legacy("vnfd"),
    Kind.VIM: _legacy("vim"),
    Kind.VNF_INSTANCE: one_by_one(_instances, _delete_instance),
    Kind.VNF_PACKAGE: one_by_one(_packages, _delete_package),
}
