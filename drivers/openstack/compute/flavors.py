"""Flavors: the smallest that suffices, or a new one if the project may make flavors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.model.specs import MachineSpec
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext
from sfcperf.drivers.openstack.resources.operations import create, existing
from sfcperf.drivers.openstack.resources.resource_types import id_of
from sfcperf.errors import EnvironmentLacks

_GIB = 1 << 30


def _disk_gib(image: Any) -> int:
    """Return the size of the image on a disk, GiB, rounded up, at least 1: its virtual size if
    glance knows it, because the file may be compressed."""
    size = getattr(image, "virtual_size", None) or image.size or 0
    return max(int(image.min_disk or 0), -(-int(size) // _GIB), 1)


class Flavors:
    """Flavors of a cloud, looked up once."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._images: dict[str, Any] = {}

    def find(self, spec: MachineSpec) -> Any | None:
        """Return the flavor that the spec names, or the smallest with enough vCPUs, memory and disk
        for the image; None if there is none. Raises EnvironmentLacks if the named one does not
        exist, or is too small."""
        if spec.flavor is not None:
            flavor = self.named(spec.flavor)
            if flavor.vcpus < spec.vcpus or flavor.ram < spec.memory_mib:
                raise EnvironmentLacks(
                    f"{spec.vnf} needs {spec.vcpus} vCPUs and {spec.memory_mib} MiB, but the "
                    f"flavor {flavor.name} has {flavor.vcpus} and {flavor.ram}",
                    where="/infrastructure/config/flavor",
                    hint="name a larger one, or none: then the smallest that suffices is used",
                )
            return flavor
        image = self.image(spec.image)
        fitting = [
            flavor
            for flavor in self.all
            if flavor.vcpus >= spec.vcpus
            and flavor.ram >= max(spec.memory_mib, image.min_ram or 0)
            # Flavors without a disk are for volumes: since Stein, nova lets only administrators
            # boot images with them.
            and flavor.disk >= _disk_gib(image)
            and not flavor.is_disabled
        ]
        return min(fitting, key=lambda f: (f.vcpus, f.ram, f.disk, f.name), default=None)

    def image(self, name: str) -> Any:
        """An image by name or id. Raises EnvironmentLacks if there is none."""
        if name not in self._images:
            find, where = self.cloud.connection.image.find_image, "/infrastructure/config/image"
            found: Any = existing(self.cloud, "image", name, find, where=where)
            if found.status != "active":
                raise EnvironmentLacks(
                    f"the image {name} cannot be booted: its status is {found.status}",
                    where=where,
                    hint="finish its upload, or activate it",
                )
            self._images[name] = found
        return self._images[name]

    @cached_property
    def all(self) -> list[Any]:
        """All flavors that the project may use."""
        compute = self.cloud.connection.compute
        return self.cloud.call("listing flavors", lambda: list(compute.flavors(details=True)))

    def check(self, spec: MachineSpec) -> None:
        """Raises EnvironmentLacks if no flavor suffices and the project may not make one."""
        if self.find(spec) is None and not self._may_make:
            raise self.lacking(spec)

    @cached_property
    def _may_make(self) -> bool:
        """Whether the project may make flavors. It tries to make one of a name that is taken: the
        answer is 409 to those who may and 403 to others. Nothing is made either way."""
        from openstack.exceptions import ConflictException, ForbiddenException

        if not self.all:
            return True  # no name is taken: whether it may is known only when it makes one
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
            compute.delete_flavor(made)  # somebody deleted the flavor of that name just before
            return True

        return self.cloud.call("checking whether the project may make flavors", ask)

    def lacking(self, spec: MachineSpec) -> EnvironmentLacks:
        """Return the error which says that no flavor suffices, and names those that exist."""
        there = ", ".join(
            f"{f.name} ({f.vcpus} vCPU, {f.ram} MiB)"
            for f in sorted(self.all, key=lambda f: (f.vcpus, f.ram))
        )
        return EnvironmentLacks(
            f"no flavor of the cloud has the {spec.vcpus} vCPUs and {spec.memory_mib} MiB that "
            f"{spec.vnf} needs, and making one needs the rights of an administrator",
            allowed=there or "the cloud has none at all",
            hint="reduce `resources`, or ask the cloud's operator for such a flavor",
        )

    def named(self, name: str) -> Any:
        """A flavor by name or id. Raises EnvironmentLacks if there is none."""
        for flavor in self.all:
            if name in (flavor.name, flavor.id):
                return flavor
        raise EnvironmentLacks(
            f"the cloud has no flavor {name}, or does not show it to this project",
            where="/infrastructure/config/flavor",
            allowed=", ".join(sorted(flavor.name for flavor in self.all)),
        )


@dataclass(frozen=True)
class Placement:
    """Image, flavor and place of a machine; ids, because names may come to mean others."""

    image_id: str
    flavor_id: str
    zone: str | None = None
    """Availability zone, which also names the hypervisor; None: the cloud chooses."""


def placement(context: LifecycleContext, flavors: Flavors, spec: MachineSpec) -> Placement:
    """Find image, flavor and place for a machine of this spec. If no flavor suffices, make one.
    Raises EnvironmentLacks."""
    flavor = flavors.find(spec)
    return Placement(
        flavors.image(spec.image).id,
        _make(context, flavors, spec) if flavor is None else str(flavor.id),
        None if spec.hypervisor is None else f"nova:{spec.hypervisor}",
    )


def _make(context: LifecycleContext, flavors: Flavors, spec: MachineSpec) -> str:
    """Make a flavor for this spec, and return its id. Raises EnvironmentLacks if the project may
    not."""
    cloud, image = context.cloud, flavors.image(spec.image)
    memory_mib = max(spec.memory_mib, image.min_ram or 0)
    name = context.names.of(f"{spec.vcpus}c{memory_mib}m{_disk_gib(image)}g")
    context.intend([(Kind.FLAVOR, name)])
    try:
        call, disk = cloud.connection.compute.create_flavor, _disk_gib(image)
        made = create(cloud, Kind.FLAVOR, name, call, vcpus=spec.vcpus, ram=memory_mib, disk=disk)
    except CloudError as error:
        if error.status != 403:
            raise
        context.journal.removed(context.entries([(Kind.FLAVOR, name)]))
        raise flavors.lacking(spec) from error
    return id_of(made)
