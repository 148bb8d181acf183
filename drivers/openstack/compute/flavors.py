"""Flavors: the smallest that suffices, or one of the run's own where the project may make them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.lifecycle.base import Workshop
from sfcperf.drivers.openstack.model.specs import Shape
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import EnvironmentLacks

_GIB = 1 << 30


def _disk_gib(image: Any) -> int:
    """What the image takes on a disk, GiB, at least 1: its file may be compressed, so that the
    virtual size counts where glance knows it."""
    size = getattr(image, "virtual_size", None) or image.size or 0
    return max(int(image.min_disk or 0), -(-int(size) // _GIB), 1)


class Flavors:
    """Flavors of a cloud, looked up once."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._all: list[Any] | None = None
        self._images: dict[str, Any] = {}

    def find(self, shape: Shape) -> Any | None:
        """The one that is named, or the smallest that has vCPUs, memory and room for the image;
        None when none has. Raises EnvironmentLacks when the named one is not there, or is too
        small."""
        if shape.flavor is not None:
            flavor = self.named(shape.flavor)
            if flavor.vcpus < shape.vcpus or flavor.ram < shape.memory_mib:
                raise EnvironmentLacks(
                    f"{shape.vnf} wants {shape.vcpus} vCPUs and {shape.memory_mib} MiB, and the "
                    f"flavor {flavor.name} has {flavor.vcpus} and {flavor.ram}",
                    where="/infrastructure/config/flavor",
                    hint="name a larger one, or none: then the smallest that suffices is taken",
                )
            return flavor
        image = self.image(shape.image)
        fitting = [
            flavor
            for flavor in self.all
            if flavor.vcpus >= shape.vcpus
            and flavor.ram >= max(shape.memory_mib, image.min_ram or 0)
            # Flavors without a disk are for volumes: nova lets administrators only boot images
            # with them (since Stein).
            and flavor.disk >= _disk_gib(image)
            and not flavor.is_disabled
        ]
        return min(fitting, key=lambda f: (f.vcpus, f.ram, f.disk, f.name), default=None)

    def image(self, name: str) -> Any:
        """An image by name or id. Raises EnvironmentLacks when there is none."""
        if name not in self._images:
            image = self.cloud.connection.image
            found = self.cloud.call(
                f"looking for image {name}", lambda: image.find_image(name, ignore_missing=True)
            )
            if found is None:
                raise EnvironmentLacks(
                    f"the cloud has no image {name}, or does not show it to this project",
                    where="/infrastructure/config/image",
                    hint="`openstack image list` shows those that there are",
                )
            if found.status != "active":
                raise EnvironmentLacks(
                    f"the image {name} cannot be booted: its status is {found.status}",
                    where="/infrastructure/config/image",
                    hint="upload it to the end, or activate it",
                )
            self._images[name] = found
        return self._images[name]

    @property
    def all(self) -> list[Any]:
        """All that the project may use."""
        if self._all is None:
            compute = self.cloud.connection.compute
            self._all = self.cloud.call(
                "listing flavors", lambda: list(compute.flavors(details=True))
            )
        return self._all

    def check(self, shape: Shape) -> None:
        """Raises EnvironmentLacks when none will do, and the project may not make one."""
        if self.find(shape) is None and not self._may_make:
            raise self.lacking(shape)

    @cached_property
    def _may_make(self) -> bool:
        """Asked by a name that is taken: who may is told so (409), and who may not is not (403).
        Nothing is made either way."""
        from openstack.exceptions import ConflictException, ForbiddenException

        if not self.all:
            return True  # seen when one is made
        taken = self.all[0]
        compute = self.cloud.connection.compute

        def ask() -> bool:
            try:
                made = compute.create_flavor(
                    name=taken.name, vcpus=taken.vcpus, ram=taken.ram, disk=taken.disk
                )
            except ConflictException:
                return True
            except ForbiddenException:
                return False
            compute.delete_flavor(made)  # the one that had the name has just gone
            return True

        return self.cloud.call("asking whether the project may make flavors", ask)

    def lacking(self, shape: Shape) -> EnvironmentLacks:
        """That no flavor will do, with those that there are."""
        there = ", ".join(
            f"{f.name} ({f.vcpus} vCPU, {f.ram} MiB)"
            for f in sorted(self.all, key=lambda f: (f.vcpus, f.ram))
        )
        return EnvironmentLacks(
            f"no flavor of the cloud has the {shape.vcpus} vCPUs and {shape.memory_mib} MiB that "
            f"{shape.vnf} wants, and making one needs the rights of an administrator",
            allowed=there or "the cloud has none at all",
            hint="ask for less in `resources`, or have the cloud's operator make one",
        )

    def named(self, name: str) -> Any:
        """A flavor by name or id. Raises EnvironmentLacks when there is none."""
        for flavor in self.all:
            if name in (flavor.name, flavor.id):
                return flavor
        raise EnvironmentLacks(
            f"the cloud has no flavor {name}, or does not show it to this project",
            where="/infrastructure/config/flavor",
            allowed=", ".join(sorted(flavor.name for flavor in self.all)),
        )


def flavor_id(workshop: Workshop, flavors: Flavors, shape: Shape) -> str:
    """Of the flavor for a machine; when none will do, one is made, if the cloud allows it.

    Raises EnvironmentLacks.
    """
    found = flavors.find(shape)
    return str(found.id if found is not None else _make(workshop, flavors, shape))


def _make(workshop: Workshop, flavors: Flavors, shape: Shape) -> str:
    cloud = workshop.cloud
    image = flavors.image(shape.image)
    memory_mib = max(shape.memory_mib, image.min_ram or 0)
    name = workshop.names.of(f"{shape.vcpus}c{memory_mib}m{_disk_gib(image)}g")
    noted = operations.resource(cloud, Kind.FLAVOR, name)
    workshop.journal.intend([noted])
    try:
        made = operations.ensure(
            cloud,
            Kind.FLAVOR,
            name,
            lambda: cloud.connection.compute.create_flavor(
                name=name, vcpus=shape.vcpus, ram=memory_mib, disk=_disk_gib(image)
            ),
        )
    except CloudError as error:
        if error.status != 403:
            raise
        workshop.journal.removed([noted])
        raise flavors.lacking(shape) from error
    return operations.identity(made)
