"""Stacks of heat: made from a template, and removed, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.lifecycle.heat_template import REVISION, Template, revision_of
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.operations import TYPES, create, first
from sfcperf.errors import DeploymentError

MINUTES = 60
"""After which heat itself gives up; sfcperf does so earlier, and removes the stack."""
REMOVAL_TIMEOUT_S = 180.0
_MOST_REASONS = 3

Outputs = Mapping[str, Any]


class StackFailed(DeploymentError):
    """A stack that heat could not make or change; the message has heat's reason."""


def ensure_stack(cloud: Cloud, name: str, template: Template, timeout_s: float) -> Outputs:
    """Make the stack from this template; gives its outputs.

    A stack that was made from it is kept, any other one is replaced. Raises StackFailed;
    DeploymentError at the timeout.
    """
    stack = cloud.call(f"looking at stack {name}", lambda: first(cloud, Kind.STACK, name))
    if stack is not None and stack.status.endswith("_IN_PROGRESS"):
        # Left by a call that ended before the cloud did.
        stack = _settled(cloud, name, timeout_s)
    if stack is not None and not _is_made(stack, template):
        cloud.log(f"openstack: replacing stack {name} ({stack.status})")
        remove(cloud, name)
        stack = None
    if stack is None:
        call = cloud.connection.orchestration.create_stack
        create(cloud, Kind.STACK, name, call, template=template, timeout_mins=MINUTES)
    return _wait(cloud, name, template, timeout_s)


def remove(cloud: Cloud, name: str) -> None:
    """Delete a stack with all that is in it, and return when it is gone. A deletion that failed
    is requested again: its obstacle often disappears meanwhile."""

    def look() -> bool | None:
        found = first(cloud, Kind.STACK, name)
        if found is None:
            return True
        if found.status == "DELETE_FAILED":
            cloud.log(f"openstack: deleting stack {name}: {found.status_reason}; trying again")
        if not found.status.startswith("DELETE_IN"):
            TYPES[Kind.STACK].delete(cloud, found)
        return None

    cloud.wait(f"deleting stack {name}", look, REMOVAL_TIMEOUT_S)


def _wait(cloud: Cloud, name: str, template: Template, timeout_s: float) -> Outputs:
    def look() -> Outputs | None:
        stack = first(cloud, Kind.STACK, name)
        if stack is None:
            raise DeploymentError(f"stack {name} disappeared while sfcperf waited for it")
        if stack.status.endswith("_FAILED"):
            raise StackFailed(
                f"stack {name} is {stack.status}: {_reason(cloud, stack)}",
                hint=f"`openstack stack show {name}` has details, as long as it exists",
            )
        return _outputs(stack) if _is_made(stack, template) else None

    return cloud.wait(f"waiting for stack {name}", look, timeout_s)


def _settled(cloud: Cloud, name: str, timeout_s: float) -> Any | None:
    """The stack when heat has finished its operation; None if it is gone."""

    def look() -> tuple[Any | None] | None:
        stack = first(cloud, Kind.STACK, name)
        busy = stack is not None and stack.status.endswith("_IN_PROGRESS")
        return None if busy else (stack,)

    return cloud.wait(f"waiting for stack {name}", look, timeout_s)[0]


def _is_made(stack: Any, template: Template) -> bool:
    done = stack.status.endswith("_COMPLETE") and not stack.status.startswith("DELETE")
    return bool(done) and _outputs(stack).get(REVISION) == revision_of(template)


def _reason(cloud: Cloud, stack: Any) -> str:
    """In heat's words: those of its resources, else those of the stack."""
    resources = cloud.call(
        f"asking why stack {stack.name} failed",
        lambda: list(cloud.connection.orchestration.resources(stack)),
    )
    reasons = [
        f"{each.name}: {' '.join(each.status_reason.split())}"
        for each in resources
        if each.status.endswith("_FAILED") and each.status_reason
    ]
    own = " ".join((stack.status_reason or "heat gives no reason").split())
    return "; ".join(reasons[:_MOST_REASONS]) or own


def _outputs(stack: Any) -> Outputs:
    """By name."""
    return {each["output_key"]: each.get("output_value") for each in stack.outputs or ()}
