"""What is in a Tacker server: found by exact name, removed; for the life cycle and demolition.

Tacker has its ways of not deleting. A VNF that is being made cannot be deleted, unless its stack
goes first (Tacker then calls it ERROR); one in PENDING_DELETE whose Tacker was restarted stays so,
unless an administrator forces it; a failed operation of `vnflcm` must be rolled back.
Each `delete` does the next step that helps, and is called until the thing is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.resources.operations import Thing
from sfcperf.drivers.openstack.resources.resource_kinds import Kind

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud

PENDING_CREATE, PENDING_DELETE = "PENDING_CREATE", "PENDING_DELETE"
NOT_INSTANTIATED, INSTANTIATED = "NOT_INSTANTIATED", "INSTANTIATED"

PACKAGE_NAME = "sfcperf"
"""Key of a package's user data that has its name: packages have none of their own."""


@dataclass(frozen=True)
class Found:
    """A thing in Tacker."""

    id: str
    name: str
    status: str
    """Of what has one; else empty."""
    reason: str
    """Why it is in ERROR, in Tacker's words; as far as its list tells."""
    stack: str | None = None
    """Id of a VNF's stack in heat."""


def found(body: Mapping[str, Any]) -> Found:
    """From what the legacy API tells of a thing."""
    return Found(
        body["id"],
        body.get("name") or "",
        body.get("status") or "",
        " ".join((body.get("error_reason") or "").split()),
        body.get("instance_id"),
    )


def _legacy(
    kind: str, plural: str, delete: Callable[[Cloud, Found], object] | None = None
) -> Thing:
    """By the names of tackerclient's calls."""

    def every(cloud: Cloud, name: str) -> Iterable[Found]:
        bodies = TackerServer(cloud).once(
            lambda client: getattr(client, f"list_{plural}")(name=name)[plural]
        )
        return [found(body) for body in bodies if body.get("name") == name]

    def ask(cloud: Cloud, thing: Found) -> None:
        _unless_gone(cloud, lambda client: getattr(client, f"delete_{kind}")(thing.id))

    return Thing(every, delete or ask)


def _unless_gone(cloud: Cloud, action: Callable[[Any], object]) -> None:
    from openstack.exceptions import NotFoundException

    with suppress(NotFoundException):
        TackerServer(cloud).once(action)


def _delete_vnf(cloud: Cloud, vnf: Found) -> None:
    if vnf.status == PENDING_CREATE:
        _delete_stack(cloud, vnf)
    elif vnf.status == PENDING_DELETE:
        if not _has_stack(cloud, vnf):
            _force(cloud, vnf)
    else:
        _unless_gone(cloud, lambda client: client.delete_vnf(vnf.id))


def _force(cloud: Cloud, vnf: Found) -> None:
    """An administrator's right: others wait whether Tacker comes to its senses."""
    from openstack.exceptions import HttpException

    body = {"vnf": {"attributes": {"force": True}}}
    with suppress(HttpException):
        TackerServer(cloud).once(lambda client: client.delete_vnf(vnf.id, body=body))


def _stack(cloud: Cloud, vnf: Found) -> Any | None:
    """The VNF's stack in heat: the run's VNFs have stacks of the same name."""
    return cloud.connection.orchestration.find_stack(vnf.stack or vnf.name, ignore_missing=True)


def _has_stack(cloud: Cloud, vnf: Found) -> bool:
    stack = _stack(cloud, vnf)
    return stack is not None and stack.status != "DELETE_COMPLETE"


def _delete_stack(cloud: Cloud, vnf: Found) -> None:
    stack = _stack(cloud, vnf)
    if stack is not None and not stack.status.startswith("DELETE_"):
        cloud.connection.orchestration.delete_stack(stack, ignore_missing=True)


def instances(cloud: Cloud, name: str) -> list[Found]:
    """Instances of `vnflcm` with exactly this name."""
    bodies = TackerServer(cloud).once(
        lambda client: client.list_vnf_instances(filter=f"(eq,vnfInstanceName,{name})")
    )
    listed = bodies["vnf_instances"] if isinstance(bodies, dict) else bodies
    return [
        Found(body["id"], name, body["instantiationState"], "")
        for body in listed
        if body.get("vnfInstanceName") == name
    ]


def operations(cloud: Cloud, instance_id: str) -> list[Mapping[str, Any]]:
    """What `vnflcm` did with an instance, in the order in which it began."""
    bodies: Any = TackerServer(cloud).once(
        lambda client: client.list_vnf_lcm_op_occs(filter=f"(eq,vnfInstanceId,{instance_id})")
    )
    listed = bodies["vnf_lcm_op_occs"] if isinstance(bodies, dict) else bodies
    mine = [body for body in listed if body.get("vnfInstanceId") == instance_id]
    return sorted(mine, key=lambda body: str(body.get("startTime") or ""))


def _delete_instance(cloud: Cloud, instance: Found) -> None:
    last = next(reversed(operations(cloud, instance.id)), None)
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


def packages(cloud: Cloud, name: str) -> list[Found]:
    """VNF packages whose user data bear exactly this name."""
    bodies = TackerServer(cloud).once(lambda client: client.list_vnf_packages(all_fields=None))
    return [
        Found(body["id"], name, body["onboardingState"], "")
        for body in bodies["vnf_packages"]
        if (body.get("userDefinedData") or {}).get(PACKAGE_NAME) == name
    ]


def _delete_package(cloud: Cloud, package: Found) -> None:
    """Only a package that is disabled can be deleted."""
    if package.status == "ONBOARDED":
        from openstack.exceptions import HttpException

        disabled = {"operationalState": "DISABLED"}
        with suppress(HttpException):  # it is disabled already
            TackerServer(cloud).once(lambda client: client.update_vnf_package(package.id, disabled))
    _unless_gone(cloud, lambda client: client.delete_vnf_package(package.id))


THINGS: Mapping[str, Thing] = {
    Kind.VNFFG: _legacy("vnffg", "vnffgs"),
    Kind.VNFFGD: _legacy("vnffgd", "vnffgds"),
    Kind.VNF: _legacy("vnf", "vnfs", _delete_vnf),
    Kind.VNFD: _legacy("vnfd", "vnfds"),
    Kind.VIM: _legacy("vim", "vims"),
    Kind.VNF_INSTANCE: Thing(instances, _delete_instance),
    Kind.VNF_PACKAGE: Thing(packages, _delete_package),
}
"""For `things` and demolition."""
