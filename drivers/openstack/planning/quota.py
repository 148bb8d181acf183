"""Quota: what a run needs of a project, and what is free there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import MachineSpec
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
"""For messages -> neutron's name of the quota, and openstacksdk's call that lists them."""


@dataclass(frozen=True)
class QuotaLimit:
    """One limit of a project."""

    what: str
    needed: int
    used: int
    limit: int

    @property
    def suffices(self) -> bool:
        """Whether what the run needs still fits."""
        return self.limit == UNLIMITED or self.needed <= self.limit - self.used

    def __str__(self) -> str:
        free = max(0, self.limit - self.used)
        return f"{self.what}: {self.needed} needed, {free} free ({self.used} of {self.limit} used)"


def check_quota(cloud: Cloud, machines: Mapping[MachineSpec, int], config: Config) -> None:
    """For a run with these machines at the same time. Raises EnvironmentLacks that names each limit
    that is too low; CloudError."""
    limits = [*_compute(cloud, machines), *_network(cloud, _network_resources(machines, config))]
    short = [limit for limit in limits if not limit.suffices]
    if short:
        raise EnvironmentLacks(
            f"the project's quota does not suffice: {'; '.join(map(str, short))}",
            hint="free something in the project, ask the cloud's operator for a larger quota, or "
            "run a workflow with fewer or smaller VMs",
        )


def _network_resources(machines: Mapping[MachineSpec, int], config: Config) -> dict[str, int]:
    """By the keys of `_NEUTRON`; the longest chain runs through all functions."""
    functions = sum(n for spec, n in machines.items() if spec.role == "function")
    ports = sum(n * len(spec.ports) for spec, n in machines.items())
    own_management = config.management_network is None
    return {
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
    }


def _compute(cloud: Cloud, machines: Mapping[MachineSpec, int]) -> list[QuotaLimit]:
    if not machines:
        return []
    compute, flavors = cloud.connection.compute, Flavors(cloud)
    cores = memory_mib = 0
    for spec, count in machines.items():
        flavors.image(spec.image)
        flavors.check(spec)
        flavor = flavors.find(spec)
        cores += count * (spec.vcpus if flavor is None else flavor.vcpus)
        memory_mib += count * (spec.memory_mib if flavor is None else flavor.ram)
    limits: Any = cloud.call("reading nova's limits", lambda: compute.get_limits().absolute)
    return [
        QuotaLimit("VMs", sum(machines.values()), limits.instances_used, limits.instances),
        QuotaLimit("vCPUs", cores, limits.total_cores_used, limits.total_cores),
        QuotaLimit("MiB of memory", memory_mib, limits.total_ram_used, limits.total_ram),
    ]


def _network(cloud: Cloud, resources: Mapping[str, int]) -> list[QuotaLimit]:
    connection = cloud.connection
    quota = cloud.call(
        "reading neutron's quota",
        lambda: connection.network.get_quota(str(connection.current_project_id)).to_dict(),
    )
    found = []
    for what, needed in resources.items():
        name, listing = _NEUTRON[what]
        limit = _limit(quota, name, listing)
        if needed and limit is not None:
            used = 0 if limit == UNLIMITED else len(cloud.list_own(listing))
            found.append(QuotaLimit(what, needed, used, limit))
    return found


def _limit(quota: Mapping[str, Any], name: str, listing: str) -> int | None:
    """openstacksdk renames some quotas; those that it does not know keep neutron's names."""
    for key in (name, listing, f"{name}s", "floating_ips" if name == "floatingip" else name):
        if isinstance(quota.get(key), int):
            return int(quota[key])
    return None
