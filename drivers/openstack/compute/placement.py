"""Placement: on what a machine stands, told to every life cycle in the same words."""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.drivers.openstack.compute.flavors import Flavors, flavor_id
from sfcperf.drivers.openstack.lifecycle.base import Workshop
from sfcperf.drivers.openstack.model.specs import Shape


@dataclass(frozen=True)
class Placement:
    """Image and flavor by id: those that were looked at, even if somebody renames others."""

    image_id: str
    flavor_id: str
    zone: str | None = None
    """Availability zone, where the workflow names the hypervisor."""


def placement(workshop: Workshop, flavors: Flavors, shape: Shape) -> Placement:
    """Of a machine of this shape. Raises EnvironmentLacks."""
    return Placement(
        flavors.image(shape.image).id,
        flavor_id(workshop, flavors, shape),
        None if shape.hypervisor is None else f"nova:{shape.hypervisor}",
    )
