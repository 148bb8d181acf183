"""Quota: what a run wants of a project, beside what is free there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import Shape
from sfcperf.errors import EnvironmentLacks

UNLIMITED = -1

_NEUTRON = {
    "networks": ("network", "networks"),
    "subnets": ("subnet", "subnets"),
    "ports": ("port", "ports"),
    "routers": ("router", "routers"),
    "floating IPs": ("floatingip", "ips"),
    "security groups": ("security_group", "security_groups"),
    "port pairs": ("port_pair", "sfc_port_pairs"),
    "port pair groups": ("port_pair_group", "sfc_port_pair_groups"),
    "port chains": ("port_chain", "sfc_port_chains"),
    "flow classifiers": ("flow_classifier", "sfc_flow_classifiers"),
}
"""In words -> neutron's name of the quota, and openstacksdk's call that lists them."""


@dataclass(frozen=True)
class Room:
    """One limit of a project."""

    what: str
    wanted: int
    used: int
    limit: int

    @property
    def suffices(self) -> bool:
        """Whether what is wanted still fits."""
        return self.limit == UNLIMITED or self.wanted <= self.limit - self.used

    @property
    def words(self) -> str:
        """For people."""
        if self.limit == UNLIMITED:
            return f"{self.what}: {self.wanted} wanted, no limit"
        free = max(0, self.limit - self.used)
        return f"{self.what}: {self.wanted} wanted, {free} free ({self.used} of {self.limit} used)"


@dataclass(frozen=True)
class Needs:
    """What a run makes, all of it at the same time."""

    machines: Mapping[Shape, int]
    networks: Mapping[str, int]
    """By the words of `_NEUTRON`."""


def needs_of(machines: Mapping[Shape, int], config: Config) -> Needs:
    """Of a run with these machines; the longest chain runs through all functions."""
    functions = sum(n for shape, n in machines.items() if shape.role == "function")
    ports = sum(n * (1 + len(shape.ports)) for shape, n in machines.items())
    own_management = config.management_network is None
    return Needs(
        machines,
        {
            "networks": 1 + own_management,
            "subnets": 1 + own_management,
            "ports": ports + 2 * own_management,
            "routers": int(own_management),
            "floating IPs": int(own_management),
            "security groups": 2,
            "port pairs": functions,
            "port pair groups": functions,
            "port chains": int(functions > 0),
            "flow classifiers": int(functions > 0),
        },
    )


def rooms(cloud: Cloud, needs: Needs) -> list[Room]:
    """Every limit that the run touches. Raises CloudError, EnvironmentLacks."""
    return [*_compute(cloud, needs), *_network(cloud, needs)]


def check_quota(cloud: Cloud, needs: Needs) -> None:
    """Raises EnvironmentLacks that names each limit in the way, what is wanted and what is free."""
    short = [room for room in rooms(cloud, needs) if not room.suffices]
    if short:
        raise EnvironmentLacks(
            "the project's quota does not suffice: " + "; ".join(room.words for room in short),
            hint="free something in the project, ask the cloud's operator for a larger quota, or "
            "run a workflow with fewer or smaller VMs",
        )


def _compute(cloud: Cloud, needs: Needs) -> list[Room]:
    if not needs.machines:
        return []
    compute, flavors = cloud.connection.compute, Flavors(cloud)
    cores = memory_mib = 0
    for shape, count in needs.machines.items():
        flavors.image(shape.image)
        flavors.check(shape)
        flavor = flavors.find(shape)
        cores += count * (shape.vcpus if flavor is None else flavor.vcpus)
        memory_mib += count * (shape.memory_mib if flavor is None else flavor.ram)
    limits: Any = cloud.call("reading nova's limits", lambda: compute.get_limits().absolute)
    servers = sum(needs.machines.values())
    return [
        Room("VMs", servers, limits.instances_used, limits.instances),
        Room("vCPUs", cores, limits.total_cores_used, limits.total_cores),
        Room("MiB of memory", memory_mib, limits.total_ram_used, limits.total_ram),
    ]


def _network(cloud: Cloud, needs: Needs) -> list[Room]:
    connection = cloud.connection
    project = str(connection.current_project_id)
    quota = cloud.call(
        "reading neutron's quota", lambda: connection.network.get_quota(project).to_dict()
    )
    found = []
    for what, wanted in needs.networks.items():
        limit = _limit(quota, *_NEUTRON[what])
        if not wanted or limit is None:
            continue
        used = 0 if limit == UNLIMITED else _used(cloud, _NEUTRON[what][1], project)
        found.append(Room(what, wanted, used, limit))
    return found


def _limit(quota: Mapping[str, Any], name: str, listing: str) -> int | None:
    """openstacksdk has names of its own for some; what it does not know it passes on."""
    for key in (name, listing, f"{name}s", "floating_ips" if name == "floatingip" else name):
        if isinstance(quota.get(key), int):
            return int(quota[key])
    return None


def _used(cloud: Cloud, listing: str, project: str) -> int:
    network = cloud.connection.network
    return cloud.call(
        f"counting {listing.replace('_', ' ')}",
        lambda: len(list(getattr(network, listing)(project_id=project))),
    )
