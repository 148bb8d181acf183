"""Neutron ports of machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.lifecycle.base import Ground, Port, Workshop
from sfcperf.drivers.openstack.model.specs import MANAGEMENT, MachinePlan
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError, EnvironmentLacks


def roles(plan: MachinePlan) -> tuple[str, ...]:
    """Ports of a machine, in the order of its interfaces."""
    return (MANAGEMENT, *plan.shape.ports)


def port_name(machine: str, role: str) -> str:
    """Name of a machine's port in neutron."""
    return f"{machine}-{role}"


def ensure_ports(workshop: Workshop, plan: MachinePlan, ground: Ground) -> dict[str, Port]:
    """A machine's ports by role: those that are there, the rest in one request."""
    cloud = workshop.cloud
    wanted = {
        port_name(plan.name, role): _body(workshop, plan, role, ground) for role in roles(plan)
    }
    present: dict[str, Any] = {}
    asked = 0

    def find() -> dict[str, Any] | None:
        present.update(operations.among(cloud, Kind.PORT, wanted))
        return present if len(present) == len(wanted) else None

    def make() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        missing = [body for name, body in wanted.items() if name not in present]
        made = list(cloud.connection.network.create_ports(missing))
        return present | {port.name: port for port in made}

    found = cloud.ensure(f"creating the ports of {plan.name}", find, make)
    if asked > 1:
        _remove_doubles(cloud, found)
    return {role: port_of(found[port_name(plan.name, role)]) for role in roles(plan)}


def bound_port(cloud: Cloud, name: str) -> Port:
    """A port that was there before, by name or id. Raises EnvironmentLacks when there is none, or
    it belongs to no machine: networking-sfc takes packets from ports that are bound only."""
    network = cloud.connection.network
    found = cloud.call(
        f"looking for port {name}", lambda: network.find_port(name, ignore_missing=True)
    )
    if found is None or not found.device_id:
        raise EnvironmentLacks(
            f"the cloud has no port {name}, or does not show it to this project"
            if found is None
            else f"the port {name} belongs to no machine",
            where="/endpoints",
            hint="`openstack port list` shows those that there are",
        )
    return port_of(found)


def port_of(found: Any) -> Port:
    """As machines have it. Raises DeploymentError when it has no IPv4 address."""
    addresses = [ip["ip_address"] for ip in found.fixed_ips if ":" not in ip["ip_address"]]
    if not addresses:
        raise DeploymentError(
            f"the cloud gave the port {found.name} no IPv4 address",
            hint="does the network have an IPv4 subnet?",
        )
    return Port(found.id, found.mac_address.lower(), addresses[0], found.network_id)


def _remove_doubles(cloud: Cloud, kept: Mapping[str, Any]) -> None:
    """Of a request that was heard twice."""
    for name, port in operations.among(cloud, Kind.PORT, kept):
        if port.id != kept[name].id:
            operations.delete(cloud, Kind.PORT, name, port)


def _body(workshop: Workshop, plan: MachinePlan, role: str, ground: Ground) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": port_name(plan.name, role),
        "description": f"sfcperf, run {workshop.names.tag}",
    }
    if role == MANAGEMENT:
        body["network_id"] = ground.management_network_id
    else:
        body["network_id"] = ground.data_network_id
        fixed = {"subnet_id": ground.data_subnet_id}
        if plan.address is not None:
            fixed["ip_address"] = plan.address
        body["fixed_ips"] = [fixed]
    guard = ground.guards.get(body["network_id"])
    if guard is not None:
        body["security_group_ids"] = [guard]
        if role != MANAGEMENT:
            # A function sends packets that bear the endpoints' addresses.
            body["allowed_address_pairs"] = [{"ip_address": "0.0.0.0/0"}]
    return body
