"""Machines of a run: flavors, servers that boot, guests that answer by SSH, and diagnostics."""

from sfcperf.drivers.openstack.compute.diagnostics import Diagnostics
from sfcperf.drivers.openstack.compute.flavors import Flavors, Placement, placement
from sfcperf.drivers.openstack.compute.guest import (
    COMMAND_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    Guest,
    connect,
    connect_existing,
    existing_host,
)
from sfcperf.drivers.openstack.compute.machine_pool import MachinePool
from sfcperf.drivers.openstack.compute.servers import METADATA, BootingServers, Machine, console

__all__ = [
    "COMMAND_TIMEOUT_S",
    "CONNECT_TIMEOUT_S",
    "METADATA",
    "BootingServers",
    "Diagnostics",
    "Flavors",
    "Guest",
    "Machine",
    "MachinePool",
    "Placement",
    "connect",
    "connect_existing",
    "console",
    "existing_host",
    "placement",
]
