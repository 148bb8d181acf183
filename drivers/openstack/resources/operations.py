"""Things in a cloud, by kind: found by their exact name, made once, removed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from os.path import commonprefix
from typing import Any, TypeVar

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.resources.resource_kinds import Kind

T = TypeVar("T")

NAMES_AT_ONCE = 40
"""In one request, whose URL has them: servers refuse long ones (HTTP 414)."""

_ELSEWHERE = {
    Kind.STACK: "sfcperf.drivers.openstack.lifecycle.heat",
    Kind.VNFFG: "sfcperf.drivers.openstack.resources.tacker_objects",
    Kind.VNFFGD: "sfcperf.drivers.openstack.resources.tacker_objects",
    Kind.VNF: "sfcperf.drivers.openstack.resources.tacker_objects",
    Kind.VNFD: "sfcperf.drivers.openstack.resources.tacker_objects",
    Kind.VNF_INSTANCE: "sfcperf.drivers.openstack.resources.tacker_objects",
    Kind.VNF_PACKAGE: "sfcperf.drivers.openstack.resources.tacker_objects",
    Kind.VIM: "sfcperf.drivers.openstack.resources.tacker_objects",
}
"""Kind -> module with a mapping `THINGS` that has it."""


@dataclass(frozen=True)
class Thing:
    """How things of one kind are found and removed; neither is patient, `Cloud.call` is."""

    every: Callable[[Cloud, str], Iterable[Any]]
    """All with exactly this name, the doubles too; each is an id, or has one (`id`)."""
    delete: Callable[[Cloud, Any], object]
    """Ask for removal; harmless when it is gone. It may take a while until `every` no longer
    gives it."""
    among: Callable[[Cloud, Collection[str]], Iterable[tuple[str, Any]]] | None = None
    """The same as `every` for many names in one request: names with things."""


@cache
def thing(kind: str) -> Thing:
    """Of a kind in the journal. Raises KeyError for one that there is not."""
    if kind in _ELSEWHERE:
        found: Thing = import_module(_ELSEWHERE[kind]).THINGS[kind]
        return found
    return THINGS[kind]


def resource(cloud: Cloud, kind: str, name: str) -> Resource:
    """What is written into the journal before such a thing is made."""
    return Resource(kind, name, cloud.detail)


def identity(found: Any) -> str:
    """Id of what `every` gave."""
    return found if isinstance(found, str) else str(found.id)


def every(cloud: Cloud, kind: str, name: str) -> list[Any]:
    """All things of a kind with exactly this name."""
    return cloud.call(f"looking for {kind} {name}", lambda: list(thing(kind).every(cloud, name)))


def among(cloud: Cloud, kind: str, names: Collection[str]) -> list[tuple[str, Any]]:
    """All things of a kind with exactly one of these names, each behind its name."""
    listing = thing(kind).among
    if listing is None:
        return [(name, found) for name in names for found in every(cloud, kind, name)]
    return cloud.call(f"looking for {kind}s of the run", lambda: list(listing(cloud, names)))


def ensure(cloud: Cloud, kind: str, name: str, make: Callable[[], T]) -> T:
    """The thing of this name: the one that is there, or else a new one.

    A request whose answer was lost and that is asked again may have been heard twice: what there
    is too much of is removed, as far as it is visible by now; `demolition` sees the rest.
    """
    asked = 0

    def ask() -> T:
        nonlocal asked
        asked += 1
        return make()

    def find() -> T | None:
        return next(iter(thing(kind).every(cloud, name)), None)

    made = cloud.ensure(f"creating {kind} {name}", find, ask)
    if asked > 1:
        for double in every(cloud, kind, name):
            if identity(double) != identity(made):
                cloud.log(f"openstack: {kind} {name} was made twice; removing {identity(double)}")
                delete(cloud, kind, name, double)
    return made


def delete(cloud: Cloud, kind: str, name: str, found: Any) -> None:
    """Ask for the removal of one thing."""
    cloud.call(f"deleting {kind} {name}", lambda: thing(kind).delete(cloud, found))


def _listed(
    listing: Callable[[Cloud, Collection[str]], Iterable[Any]],
    delete: Callable[[Cloud, Any], object],
    name_of: Callable[[Any], str] = lambda found: str(found.name),
) -> Thing:
    """By a request that gives things of some names, and perhaps others: the cloud's own filters
    match parts of names, upper and lower case alike, or nothing."""

    def among(cloud: Cloud, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        candidates = ((name_of(found), found) for found in listing(cloud, names))
        return ((name, found) for name, found in candidates if name in names)

    def every(cloud: Cloud, name: str) -> Iterator[Any]:
        return (found for _, found in among(cloud, [name]))

    return Thing(every, delete, among)


def _network_things(
    listing: str, deletion: str | Callable[[Cloud, Any], object], key: str = "name"
) -> Thing:
    """By the names of openstacksdk's calls; an administrator sees other projects' things too."""

    def look(cloud: Cloud, names: Collection[str]) -> Iterator[Any]:
        connection = cloud.connection
        own, wanted = {"project_id": connection.current_project_id}, list(names)
        for start in range(0, len(wanted), NAMES_AT_ONCE):
            some = {key: wanted[start : start + NAMES_AT_ONCE]}
            yield from getattr(connection.network, listing)(**own, **some)

    def remove(cloud: Cloud, found: Any) -> None:
        assert isinstance(deletion, str)
        getattr(cloud.connection.network, deletion)(identity(found), ignore_missing=True)

    delete = remove if isinstance(deletion, str) else deletion
    return _listed(look, delete, lambda found: str(getattr(found, key)))


def _servers(cloud: Cloud, names: Collection[str]) -> Iterable[Any]:
    # The filter is a regular expression, of which some novas (26 too) find nothing by `a|b`.
    pattern = f"^{commonprefix(list(names))}"  # noqa: RUF071 - not of paths
    listed = cloud.connection.compute.servers(details=True, name=pattern)
    return (server for server in listed if server.status not in ("DELETED", "SOFT_DELETED"))


def _delete_server(cloud: Cloud, found: Any) -> None:
    cloud.connection.compute.delete_server(identity(found), ignore_missing=True)


def _delete_router(cloud: Cloud, found: Any) -> None:
    """Its interfaces go first; the way to the outside goes with it."""
    network, router = cloud.connection.network, identity(found)
    for port in list(network.ports(device_id=router)):
        if port.device_owner == "network:router_interface":
            with suppress(_missing()):
                network.remove_interface_from_router(router, None, port.id)
    network.delete_router(router, ignore_missing=True)


def _delete_network(cloud: Cloud, found: Any) -> None:
    """With all ports that others (a service, a stack) made in it: it is the run's own. Those of
    neutron itself (DHCP) go with it."""
    network, own = cloud.connection.network, identity(found)
    for port in list(network.ports(network_id=own)):
        if not (port.device_owner or "").startswith("network:"):
            network.delete_port(port.id, ignore_missing=True)
    network.delete_network(own, ignore_missing=True)


def _keypairs(cloud: Cloud, _names: Collection[str]) -> Iterable[str]:
    # The key pair's id in the database is of no use: its name is its address.
    return (pair.name for pair in cloud.connection.compute.keypairs())


def _delete_keypair(cloud: Cloud, found: Any) -> None:
    cloud.connection.compute.delete_keypair(found, ignore_missing=True)


def _flavors(cloud: Cloud, _names: Collection[str]) -> Iterable[Any]:
    return cloud.connection.compute.flavors(details=True)


def _delete_flavor(cloud: Cloud, found: Any) -> None:
    cloud.connection.compute.delete_flavor(identity(found), ignore_missing=True)


def _missing() -> type[Exception]:
    from openstack.exceptions import NotFoundException

    return NotFoundException


THINGS: Mapping[str, Thing] = {
    Kind.CHAIN: _network_things("sfc_port_chains", "delete_sfc_port_chain"),
    Kind.CLASSIFIER: _network_things("sfc_flow_classifiers", "delete_sfc_flow_classifier"),
    Kind.PAIR_GROUP: _network_things("sfc_port_pair_groups", "delete_sfc_port_pair_group"),
    Kind.PAIR: _network_things("sfc_port_pairs", "delete_sfc_port_pair"),
    Kind.SERVER: _listed(_servers, _delete_server),
    # Floating IPs have no name: ours carry it as their description.
    Kind.FLOATING_IP: _network_things("ips", "delete_ip", "description"),
    Kind.ROUTER: _network_things("routers", _delete_router),
    Kind.PORT: _network_things("ports", "delete_port"),
    Kind.SUBNET: _network_things("subnets", "delete_subnet"),
    Kind.NETWORK: _network_things("networks", _delete_network),
    Kind.SECURITY_GROUP: _network_things("security_groups", "delete_security_group"),
    Kind.KEYPAIR: _listed(_keypairs, _delete_keypair, str),
    Kind.FLAVOR: _listed(_flavors, _delete_flavor),
}
