"""How resources of nova, neutron and heat are found by name, and deleted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.resources.context import Kind

NAMES_AT_ONCE = 40
"""Most names in one request, whose URL has them: servers refuse long ones (HTTP 414)."""


@dataclass(frozen=True)
class ResourceType:
    """How resources of one kind are found and deleted; neither retries, `Cloud.call` does."""

    find: Callable[[Cloud, Collection[str]], Iterable[tuple[str, Any]]]
    """Names -> all resources with exactly one of them, duplicates too, each with its name. A
    resource is an id, or has one (`id`)."""
    delete: Callable[[Cloud, Any], object]
    """Request the deletion; harmless if the resource is gone. It may take a while until `find` no
    longer gives it."""


def id_of(found: Any) -> str:
    """Id of what a `find` gave."""
    return found if isinstance(found, str) else str(found.id)


def one_by_one(
    listing: Callable[[Cloud, str], Iterable[Any]], delete: Callable[[Cloud, Any], object]
) -> ResourceType:
    """Find resources by a request for each name, which gives only resources of that name."""

    def find(cloud: Cloud, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        return ((name, found) for name in names for found in listing(cloud, name))

    return ResourceType(find, delete)


def _filtered(
    listing: Callable[[Cloud, Collection[str]], Iterable[Any]],
    delete: Callable[[Cloud, Any], object],
    name_of: Callable[[Any], str] = lambda found: str(found.name),
) -> ResourceType:
    """Find resources by a request that may give others too, because the filters of clouds may match
    parts of names, ignore case, or have no effect. `name_of` reads the name of a resource."""

    def find(cloud: Cloud, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        candidates = ((name_of(found), found) for found in listing(cloud, names))
        return ((name, found) for name, found in candidates if name in names)

    return ResourceType(find, delete)


def _deletion(service: str, kind: str) -> Callable[[Cloud, Any], object]:
    """Return what deletes a resource by openstacksdk's call `delete_KIND` of the service
    (`network`, `compute`)."""

    def delete(cloud: Cloud, found: Any) -> None:
        calls = getattr(cloud.connection, service)
        getattr(calls, f"delete_{kind}")(id_of(found), ignore_missing=True)

    return delete


def _neutron(
    call: str, key: str = "name", delete: Callable[[Cloud, Any], object] | None = None
) -> ResourceType:
    """Find and delete by openstacksdk's calls `CALLs` and `delete_CALL`, or by `delete` if it is
    given; `key` is the field that has the name. The project is named, because an administrator sees
    other projects' resources too."""

    def listing(cloud: Cloud, names: Collection[str]) -> Iterator[Any]:
        connection = cloud.connection
        own, wanted = {"project_id": connection.current_project_id}, list(names)
        for start in range(0, len(wanted), NAMES_AT_ONCE):
            some = {key: wanted[start : start + NAMES_AT_ONCE]}
            yield from getattr(connection.network, f"{call}s")(**own, **some)

    delete = delete or _deletion("network", call)
    return _filtered(listing, delete, lambda found: str(getattr(found, key)))


def _delete_router(cloud: Cloud, found: Any) -> None:
    """Delete a router. Its interfaces go first; the external gateway goes with it."""
    from openstack.exceptions import NotFoundException

    network = cloud.connection.network
    for port in list(network.ports(device_id=found.id)):
        if port.device_owner == "network:router_interface":
            with suppress(NotFoundException):
                network.remove_interface_from_router(found.id, None, port.id)
    network.delete_router(found.id, ignore_missing=True)


def _delete_network(cloud: Cloud, found: Any) -> None:
    """Delete a network with all ports that others (a service, a stack) made in it, because it
    belongs to the run. Neutron's own ports (DHCP) go with the network."""
    network = cloud.connection.network
    for port in list(network.ports(network_id=found.id)):
        if not (port.device_owner or "").startswith("network:"):
            network.delete_port(port.id, ignore_missing=True)
    network.delete_network(found.id, ignore_missing=True)


def _servers(cloud: Cloud, names: Collection[str]) -> Iterable[Any]:
    """List the servers whose names begin with the common prefix of `names`, except deleted ones.
    Others may be among them: `_filtered` leaves those out."""
    # The filter is a regular expression. It cannot list the names, because some releases of nova
    # (26 among them) find nothing by `a|b`.
    pattern = f"^{commonprefix(list(names))}"  # noqa: RUF071 - not of paths
    listed = cloud.connection.compute.servers(details=True, name=pattern)
    return (server for server in listed if server.status not in ("DELETED", "SOFT_DELETED"))


def _keypairs(cloud: Cloud, _names: Collection[str]) -> Iterable[str]:
    """List the names of all key pairs of the user. A name stands for the key pair, because nova
    addresses it by its name and not by its id in the database."""
    return (pair.name for pair in cloud.connection.compute.keypairs())


def _stacks(cloud: Cloud, name: str) -> Iterable[Any]:
    """Yield the stacks of this name, with outputs. A stack that is DELETE_COMPLETE blocks its name
    until heat has archived it, because names are unique in a project. openstacksdk does not find it
    by id any more, so it is yielded as it is listed."""
    from openstack.exceptions import NotFoundException

    heat = cloud.connection.orchestration
    for listed in heat.stacks(name=name):
        if listed.name == name:
            try:
                yield heat.get_stack(listed.id)
            except NotFoundException:
                yield listed


def _delete_stack(cloud: Cloud, found: Any) -> None:
    cloud.connection.orchestration.delete_stack(found, ignore_missing=True)


TYPES: Mapping[Kind, ResourceType] = {
    Kind.STACK: one_by_one(_stacks, _delete_stack),
    Kind.CHAIN: _neutron("sfc_port_chain"),
    Kind.CLASSIFIER: _neutron("sfc_flow_classifier"),
    Kind.PAIR_GROUP: _neutron("sfc_port_pair_group"),
    Kind.PAIR: _neutron("sfc_port_pair"),
    Kind.SERVER: _filtered(_servers, _deletion("compute", "server")),
    # Floating IPs have no name: ours have it as their description.
    Kind.FLOATING_IP: _neutron("ip", key="description"),
    Kind.ROUTER: _neutron("router", delete=_delete_router),
    Kind.PORT: _neutron("port"),
    Kind.SUBNET: _neutron("subnet"),
    Kind.NETWORK: _neutron("network", delete=_delete_network),
    Kind.SECURITY_GROUP: _neutron("security_group"),
    Kind.KEYPAIR: _filtered(_keypairs, _deletion("compute", "keypair"), str),
    Kind.FLAVOR: _filtered(
        lambda cloud, _: cloud.connection.compute.flavors(details=True),
        _deletion("compute", "flavor"),
    ),
}
