"""The floating IP by which a run's machines are reached from outside the cloud."""

from __future__ import annotations

from sfcperf.drivers.openstack.lifecycle.base import Machine, Workshop
from sfcperf.drivers.openstack.model.specs import MANAGEMENT
from sfcperf.drivers.openstack.network.networks import existing
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind


def address(workshop: Workshop, machine: Machine) -> str:
    """Of the machine's management port: the one that it has, or a new one from the external
    network of the configuration. Raises DeploymentError."""
    cloud, name = workshop.cloud, machine.plan.name
    assert workshop.config.external_network is not None
    outside = existing(cloud, "external_network", workshop.config.external_network)
    workshop.journal.intend([operations.resource(cloud, Kind.FLOATING_IP, name)])
    network = cloud.connection.network
    made = operations.ensure(
        cloud,
        Kind.FLOATING_IP,
        name,
        lambda: network.create_ip(
            floating_network_id=outside.id,
            port_id=machine.ports[MANAGEMENT].id,
            description=name,
        ),
    )
    return str(made.floating_ip_address)
