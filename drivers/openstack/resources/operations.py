"""Find, create and delete resources by kind and exact name, with retries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.resources import resource_types, tacker_objects
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.resource_types import ResourceType, id_of
from sfcperf.drivers.openstack.resources.tacker_objects import TackerObject
from sfcperf.errors import EnvironmentLacks

T = TypeVar("T")

TYPES: Mapping[Kind, ResourceType] = {**resource_types.TYPES, **tacker_objects.TYPES}


def find(cloud: Cloud, kind: Kind, name: str) -> list[Any]:
    """Find all resources of a kind with exactly this name, duplicates too."""
    return cloud.call(
        f"looking for {kind} {name}",
        lambda: [found for _, found in TYPES[kind].find(cloud, [name])],
    )


def find_named(cloud: Cloud, kind: Kind, names: Collection[str]) -> list[tuple[str, Any]]:
    """Find all resources of a kind with exactly one of these names, each with its name."""
    return cloud.call(
        f"looking for {kind}s of the run", lambda: list(TYPES[kind].find(cloud, names))
    )


def existing(cloud: Cloud, what: str, name: str, find: Callable[..., T | None], *, where: str) -> T:
    """Find what the run did not make, by name or id; `find` is openstacksdk's call. Raises
    EnvironmentLacks if there is none."""
    found = cloud.call(f"looking for {what} {name}", lambda: find(name, ignore_missing=True))
    if found is None:
        raise EnvironmentLacks(
            f"the cloud has no {what} {name}, or does not show it to this project",
            where=where,
            hint=f"`openstack {what} list` shows the {what}s",
        )
    return found


def first(cloud: Cloud, kind: Kind, name: str) -> Any | None:
    """Return the resource of exactly this name, or None. It does not retry: it is for
    `Cloud.ensure` and `Cloud.wait`, which do."""
    return next((found for _, found in TYPES[kind].find(cloud, [name])), None)


def ensure(cloud: Cloud, kind: Kind, name: str, make: Callable[[], T]) -> T:
    """Return the resource of this name: the one that is there, or a new one. Duplicates that
    repeated requests made are removed if they are visible by now; cleanup removes the others."""

    def remove_duplicates(kept: T) -> None:
        for found in find(cloud, kind, name):
            if id_of(found) != id_of(kept):
                cloud.log(f"openstack: {kind} {name} was created twice; removing {id_of(found)}")
                delete(cloud, kind, name, found)

    made: T = cloud.ensure(
        f"creating {kind} {name}", lambda: first(cloud, kind, name), make, remove_duplicates
    )
    return made


def create(cloud: Cloud, kind: Kind, name: str, call: Callable[..., T], **fields: Any) -> T:
    """Return the resource of this name, made by `call(name=name, **fields)` if it is not there."""
    return ensure(cloud, kind, name, lambda: call(name=name, **fields))


def create_in_tacker(server: TackerServer, kind: Kind, name: str, **fields: Any) -> TackerObject:
    """Return the object of this name in Tacker's legacy API, made with these fields if it is not
    there."""
    body = {str(kind): {"name": name, **fields}}

    def make() -> TackerObject:
        return server.once(
            lambda client: TackerObject.of(getattr(client, f"create_{kind}")(body)[kind])
        )

    return ensure(server.cloud, kind, name, make)


def delete(cloud: Cloud, kind: Kind, name: str, found: Any) -> None:
    """Request the deletion of one resource."""
    cloud.call(f"deleting {kind} {name}", lambda: TYPES[kind].delete(cloud, found))


def await_removal(cloud: Cloud, kind: Kind, name: str, timeout_s: float) -> None:
    """Delete all resources of this name, by repeated requests, and return when they are gone.
    Raises DeploymentError at the timeout."""

    def look() -> bool | None:
        present = list(TYPES[kind].find(cloud, [name]))
        for _, found in present:
            TYPES[kind].delete(cloud, found)
        return None if present else True

    cloud.wait(f"deleting {kind} {name}", look, timeout_s)
