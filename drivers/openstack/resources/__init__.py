"""Resources of a cloud: found by kind and exact name, created once, deleted; the run's context."""

from sfcperf.drivers.openstack.resources.context import LifecycleContext, NamedResource
from sfcperf.drivers.openstack.resources.operations import (
    TYPES,
    await_removal,
    create,
    create_in_tacker,
    delete,
    ensure,
    find,
    find_named,
    first,
)
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.drivers.openstack.resources.resource_types import ResourceType, id_of
from sfcperf.drivers.openstack.resources.tacker_objects import (
    INSTANTIATED,
    PACKAGE_NAME,
    TackerObject,
    lcm_operations,
)

__all__ = [
    "INSTANTIATED",
    "PACKAGE_NAME",
    "TYPES",
    "Kind",
    "LifecycleContext",
    "NamedResource",
    "ResourceType",
    "TackerObject",
    "await_removal",
    "create",
    "create_in_tacker",
    "delete",
    "ensure",
    "find",
    "find_named",
    "first",
    "id_of",
    "lcm_operations",
]
