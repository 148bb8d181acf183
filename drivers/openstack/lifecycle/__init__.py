"""How VMs and chains come into being on OpenStack: by nova, heat or Tacker."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.lifecycle.base import Lifecycle

_CLASSES = {"nova": "NovaLifecycle", "heat": "HeatLifecycle", "tacker": "TackerLifecycle"}


def lifecycle(name: str) -> type[Lifecycle]:
    """The class of `infrastructure.config.lifecycle`; its clients are imported now."""
    module = import_module(f"sfcperf.drivers.openstack.lifecycle.{name}")
    found: type[Lifecycle] = getattr(module, _CLASSES[name])
    return found
