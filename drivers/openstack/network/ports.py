"""Neutron ports of machines, and the floating IP of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.model.specs import MANAGEMENT, ExistingMachine, MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks, find_network
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext
from sfcperf.drivers.openstack.resources.operations import delete, ensure, existing, find_named
from sfcperf.errors import DeploymentError, EnvironmentLacks


@dataclass(frozen=True)
class Port:
    """A neutron port of a machine."""

    id: str
    mac: str
    """Lower case, with colons: finds the interface in the guest."""
    address: str
    """IPv4 address."""
    network_id: str = ""


def ensure_ports(
    context: LifecycleContext, plan: MachinePlan, networks: RunNetworks
) -> dict[str, Port]:
    """Return a machine's ports, by the names in `spec.ports`; those that are missing are made in
    one request."""
    cloud = context.cloud
    bodies = {plan.port_name(port): port_body(plan, port, networks) for port in plan.spec.ports}
    # Name -> port, of those that `find` has seen.
    present: dict[str, Any] = {}

    def find() -> dict[str, Any] | None:
        """Return all ports by name; None if one is missing."""
        present.update(find_named(cloud, Kind.PORT, bodies))
        return present if len(present) == len(bodies) else None

    def make() -> dict[str, Any]:
        description = f"sfcperf, run {context.names.tag}"
        missing = [
            {**body, "description": description}
            for name, body in bodies.items()
            if name not in present
        ]
        made = list(cloud.connection.network.create_ports(missing))
        return present | {port.name: port for port in made}

    def remove_duplicates(kept: dict[str, Any]) -> None:
        for name, found in find_named(cloud, Kind.PORT, kept):
            if found.id != kept[name].id:
                delete(cloud, Kind.PORT, name, found)

    found = cloud.ensure(f"creating the ports of {plan.name}", find, make, remove_duplicates)
    return {port: port_of(found[plan.port_name(port)]) for port in plan.spec.ports}


def port_body(plan: MachinePlan, port: str, networks: RunNetworks) -> dict[str, Any]:
    """Properties of a machine's port, by the names of neutron's API."""
    body: dict[str, Any] = {"name": plan.port_name(port)}
    if port == MANAGEMENT:
        body["network_id"] = networks.management_id
    else:
        body["network_id"] = networks.data_id
        fixed = {"subnet_id": networks.data_subnet_id}
        if plan.address is not None:
            fixed["ip_address"] = plan.address
        body["fixed_ips"] = [fixed]
    group = networks.security_groups.get(body["network_id"])
    if group is not None:
        body["security_group_ids"] = [group]
        if port != MANAGEMENT and not plan.spec.overlay:
            # A function sends packets with the endpoints' addresses. An SFF puts them into others
            # with the port's own.
            body["allowed_address_pairs"] = [{"ip_address": "0.0.0.0/0"}]
    return body


def bound_port(cloud: Cloud, machine: ExistingMachine) -> Port:
    """Find the port of a machine that the run did not make, by name or id. Raises EnvironmentLacks
    if there is none, or it belongs to no machine: networking-sfc takes packets from bound ports
    only."""
    where = f"/endpoints/{machine.name}/options/machine/port"
    find = cloud.connection.network.find_port
    found: Any = existing(cloud, "port", machine.port, find, where=where)
    if not found.device_id:
        raise EnvironmentLacks(
            f"the port {machine.port} belongs to no machine",
            where=where,
            hint="`openstack port list` shows the ports",
        )
    return port_of(found)


def port_of(found: Any) -> Port:
    """Make a Port from openstacksdk's object. Raises DeploymentError if it has no IPv4 address."""
    addresses = [ip["ip_address"] for ip in found.fixed_ips if ":" not in ip["ip_address"]]
    if not addresses:
        raise DeploymentError(
            f"the cloud assigned no IPv4 address to the port {found.name}",
            hint="does the network have an IPv4 subnet?",
        )
    return Port(found.id, found.mac_address.lower(), addresses[0], found.network_id)


def ensure_floating_ip(context: LifecycleContext, name: str, port: Port) -> str:
    """Return the floating IP of the machine `name`, at its management port, from the external
    network of the configuration; it is made if there is none. Raises DeploymentError."""
    cloud = context.cloud
    assert context.config.external_network is not None
    outside = find_network(cloud, "external_network", context.config.external_network)
    context.intend([(Kind.FLOATING_IP, name)])
    made = ensure(
        cloud,
        Kind.FLOATING_IP,
        name,
        # Floating IPs have no name: it is in the description.
        lambda: cloud.connection.network.create_ip(
            floating_network_id=outside.id, port_id=port.id, description=name
        ),
    )
    return str(made.floating_ip_address)
