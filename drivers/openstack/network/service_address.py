"""The address of this machine at which VMs reach services of the run."""

from __future__ import annotations

import socket
from contextlib import closing
from ipaddress import IPv4Network

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.network.networks import find_network
from sfcperf.errors import EnvironmentLacks

_ANY_PORT = 9
"""Port to which nothing is sent, because connect(2) needs one."""


def service_address(config: Config) -> str:
    """Return the address from which this machine sends to the network through which it reaches VMs.
    Raises EnvironmentLacks when it has no route there."""
    if config.management_network is not None:
        key, name = "management_network", config.management_network
    else:
        key, name = "external_network", str(config.external_network)
    with closing(Cloud(config.cloud, lambda text: None)) as cloud:
        network = find_network(cloud, key, name)
        subnets = cloud.call(
            f"listing subnets of {network.name}",
            lambda: list(cloud.connection.network.subnets(network_id=network.id, ip_version=4)),
        )
    # The first address of a subnet stands for all.
    for subnet in subnets:
        if address := _source(str(IPv4Network(subnet.cidr)[1])):
            return address
    raise EnvironmentLacks(
        f"this machine has no route to the network {network.name}, so VMs have none to a service "
        "on it",
        where=f"/infrastructure/config/{key}",
        hint="set an address of this machine that VMs reach in the parameters of the service",
    )


def _source(destination: str) -> str | None:
    """Return the address of this machine from which it would send to a destination; None: it has no
    route. Nothing is sent, because connect(2) of a UDP socket only looks for the route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((destination, _ANY_PORT))
        except OSError:
            return None
        return str(probe.getsockname()[0])
