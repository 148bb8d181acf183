"""Stacks of heat: brought to a template; found and removed by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sfcperf.drivers.openstack.lifecycle.heat_template import REVISION, Template, revision_of
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud

MINUTES = 60
"""Heat itself gives up after this; sfcperf does so earlier, and removes the stack."""
REMOVAL_TIMEOUT_S = 180.0
_MOST_REASONS = 3

Outputs = Mapping[str, Any]


class StackFailed(DeploymentError):
    """A stack that heat could not make or change; the message has heat's reason."""


def bring(cloud: Cloud, name: str, template: Template, timeout_s: float) -> Outputs:
    """Make the stack of this name stand for this template; gives its outputs.

    A stack that stands for it is left alone, any other one is removed and made anew. Raises
    StackFailed; DeploymentError when time is over.
    """
    stack = find(cloud, name)
    if stack is not None and stack.status.endswith("_IN_PROGRESS"):
        # Left by a call that ended before the cloud did.
        stack = _settled(cloud, name, timeout_s)
    if stack is not None and not _stands(stack, template):
        cloud.log(f"openstack: stack {name} ({stack.status}) is made anew")
        remove(cloud, name)
        stack = None
    if stack is None:
        _create(cloud, name, template)
    return _wait(cloud, name, template, timeout_s)


def find(cloud: Cloud, name: str) -> Any | None:
    """The stack of exactly this name, with its outputs; None: there is none."""
    return cloud.call(f"looking at stack {name}", lambda: next(iter(_every(cloud, name)), None))


def remove(cloud: Cloud, name: str, timeout_s: float = REMOVAL_TIMEOUT_S) -> None:
    """Delete a stack with all that is in it, and return when it is gone. A deletion that failed
    is asked for again: what was in its way often goes meanwhile."""

    def look() -> bool | None:
        found = next(iter(_every(cloud, name)), None)
        if found is None:
            return True
        if found.status == "DELETE_FAILED":
            cloud.log(f"openstack: deleting stack {name}: {found.status_reason}; again")
        if not found.status.startswith("DELETE_IN"):
            _delete(cloud, found)
        return None

    cloud.wait(f"deleting stack {name}", look, timeout_s)


def _create(cloud: Cloud, name: str, template: Template) -> None:
    def make() -> Any:
        return cloud.connection.orchestration.create_stack(
            name=name, template=template, timeout_mins=MINUTES
        )

    operations.ensure(cloud, Kind.STACK, name, make)


def _wait(cloud: Cloud, name: str, template: Template, timeout_s: float) -> Outputs:
    def look() -> Outputs | None:
        stack = next(iter(_every(cloud, name)), None)
        if stack is None:
            raise DeploymentError(f"stack {name} is gone while it was waited for")
        if stack.status.endswith("_FAILED"):
            raise StackFailed(
                f"stack {name} is {stack.status}: {_reason(cloud, stack)}",
                hint=f"`openstack stack show {name}` says more, as long as it is there",
            )
        return outputs(stack) if _stands(stack, template) else None

    return cloud.wait(f"waiting for stack {name}", look, timeout_s)


def _settled(cloud: Cloud, name: str, timeout_s: float) -> Any | None:
    """The stack when heat has finished what it does with it; None: it is gone."""

    def look() -> tuple[Any | None] | None:
        stack = next(iter(_every(cloud, name)), None)
        busy = stack is not None and stack.status.endswith("_IN_PROGRESS")
        return None if busy else (stack,)

    return cloud.wait(f"waiting for stack {name}", look, timeout_s)[0]


def _stands(stack: Any, template: Template) -> bool:
    done = stack.status.endswith("_COMPLETE") and not stack.status.startswith("DELETE")
    return bool(done) and outputs(stack).get(REVISION) == revision_of(template)


def _reason(cloud: Cloud, stack: Any) -> str:
    """Why, in heat's words: of its resources, which know, else of the stack."""
    resources = cloud.call(
        f"asking stack {stack.name} why",
        lambda: list(cloud.connection.orchestration.resources(stack)),
    )
    reasons = [
        f"{each.name}: {' '.join(each.status_reason.split())}"
        for each in resources
        if each.status.endswith("_FAILED") and each.status_reason
    ]
    told = " ".join((stack.status_reason or "heat gives no reason").split())
    return "; ".join(reasons[:_MOST_REASONS]) or told


def outputs(stack: Any) -> Outputs:
    """What a stack gives, by name."""
    return {each["output_key"]: each.get("output_value") for each in stack.outputs or ()}


def _every(cloud: Cloud, name: str) -> Iterable[Any]:
    """Names of stacks are unique in a project. One that is DELETE_COMPLETE is in the way of
    another of its name until heat has put it away; openstacksdk calls it missing already."""
    from openstack.exceptions import NotFoundException

    heat = cloud.connection.orchestration
    for listed in heat.stacks(name=name):
        if listed.name == name:
            try:
                yield heat.get_stack(listed.id)
            except NotFoundException:
                yield listed


def _delete(cloud: Cloud, found: Any) -> None:
    cloud.connection.orchestration.delete_stack(found, ignore_missing=True)


THING = operations.Thing(_every, _delete)
