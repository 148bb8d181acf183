"""Quota: what a run needs of a project, and what is free there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import MachineSpec
from sfcperf.errors import EnvironmentLacks

UNLIMITED = -1
"""What nova and neutron give as a limit where there is none."""


@dataclass(frozen=True)
class QuotaLimit:
    """One limit of a project."""

    what: str
    """What is limited, for messages: `vCPUs`."""
    needed: int
    used: int
    limit: int
    """The most that the project may have; UNLIMITED: any number."""

    @property
    def suffices(self) -> bool:
        """Whether what the run needs still fits."""
        return self.limit == UNLIMITED or self.needed <= self.limit - self.used

    def __str__(self) -> str:
        free = max(0, self.limit - self.used)
        return f"{self.what}: {self.needed} needed, {free} free ({self.used} of {self.limit} used)"


def check_quota(
    cloud: Cloud, machines: Mapping[MachineSpec, int], config: Config, *, own_data: bool
) -> None:
    """Check that the quota suffices for a run with these machines at the same time. `own_data`:
    whether the run makes the data network. Raises EnvironmentLacks that names each limit that is
    too low; CloudError."""
    needs = _network_needs(machines, config, own_data)
    limits = [*_compute(cloud, machines), *_network(cloud, needs)]
    short = [limit for limit in limits if not limit.suffices]
    if short:
        raise EnvironmentLacks(
            f"the project's quota does not suffice: {'; '.join(map(str, short))}",
            hint="free something in the project, ask the cloud's operator for a larger quota, or "
            "run a workflow with fewer or smaller VMs",
        )


@dataclass(frozen=True)
class _Demand:
    """How much a run needs of one kind of neutron's resources."""

    what: str
    """What is needed, for messages."""
    quota: str
    """Neutron's name of the quota."""
    listing: str
    """openstacksdk's call that lists them."""
    count: int


def _network_needs(
    machines: Mapping[MachineSpec, int], config: Config, own_data: bool
) -> list[_Demand]:
    """Return what a run with these machines needs of neutron. The longest chain of networking-sfc
    runs through all functions, so each of them needs a port pair and a group."""
    functions = sum(n for spec, n in machines.items() if spec.has_port_pair)
    ports = sum(n * len(spec.ports) for spec, n in machines.items())
    own = int(config.management_network is None)
    chains = int(functions > 0)
    return [
        _Demand("networks", "network", "networks", own_data + own),
        _Demand("subnets", "subnet", "subnets", own_data + own),
        _Demand("ports", "port", "ports", ports + 2 * own),
        _Demand("routers", "router", "routers", own),
        _Demand("floating IPs", "floatingip", "ips", own),
        _Demand("security groups", "security_group", "security_groups", 2),
        _Demand("port pairs", "port_pair", "sfc_port_pairs", functions),
        _Demand("port pair groups", "port_pair_group", "sfc_port_pair_groups", functions),
        _Demand("port chains", "port_chain", "sfc_port_chains", chains),
        _Demand("flow classifiers", "flow_classifier", "sfc_flow_classifiers", chains),
    ]


def _compute(cloud: Cloud, machines: Mapping[MachineSpec, int]) -> list[QuotaLimit]:
    """Return nova's limits and what machines with their flavors need of them. A flavor that is
    still to be made counts as the spec. Raises EnvironmentLacks for a machine without image or
    flavor."""
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


def _network(cloud: Cloud, needs: Sequence[_Demand]) -> list[QuotaLimit]:
    """Return neutron's limits of what is needed, where it has such a quota."""
    connection = cloud.connection
    quota = cloud.call(
        "reading neutron's quota",
        lambda: connection.network.get_quota(str(connection.current_project_id)).to_dict(),
    )
    found = []
    for need in needs:
        limit = _limit(quota, need)
        if need.count and limit is not None:
            used = 0 if limit == UNLIMITED else len(cloud.list_own(need.listing))
            found.append(QuotaLimit(need.what, need.count, used, limit))
    return found


def _limit(quota: Mapping[str, Any], need: _Demand) -> int | None:
    """Return the limit of a quota; None: neutron has no such quota. openstacksdk renames some
    quotas; those that it does not know keep neutron's names."""
    names = (need.quota, need.listing, f"{need.quota}s")
    for key in (*names, "floating_ips") if need.quota == "floatingip" else names:
        if isinstance(quota.get(key), int):
            return int(quota[key])
    return None
