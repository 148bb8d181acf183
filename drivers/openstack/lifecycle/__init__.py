"""Life cycles: how machines and chains are made on OpenStack: by nova or Tacker."""

from collections.abc import Mapping

from sfcperf.drivers.openstack.lifecycle.base import Lifecycle
from sfcperf.drivers.openstack.lifecycle.nova import NovaLifecycle
from sfcperf.drivers.openstack.lifecycle.tacker import TackerLifecycle

LIFECYCLES: Mapping[str, type[Lifecycle]] = {
    "nova": NovaLifecycle,
    "tacker": TackerLifecycle,
}
"""By `infrastructure.config.lifecycle`."""
