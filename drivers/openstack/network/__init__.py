"""Networks, ports and addresses of a run, by neutron."""

from sfcperf.drivers.openstack.network.networks import RunNetworks, find_network, prepare_networks
from sfcperf.drivers.openstack.network.ports import (
    Port,
    bound_port,
    ensure_floating_ip,
    ensure_ports,
    port_body,
    port_of,
)

__all__ = [
    "Port",
    "RunNetworks",
    "bound_port",
    "ensure_floating_ip",
    "ensure_ports",
    "find_network",
    "port_body",
    "port_of",
    "prepare_networks",
]
