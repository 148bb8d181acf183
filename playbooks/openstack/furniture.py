"""What a cloud offers to its projects: flavors, networks and images."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfcperf.playbooks.openstack.layout import (
    EXTERNAL_GATEWAY,
    EXTERNAL_SUBNET,
    MANAGEMENT_SUBNET,
    Layout,
)

FLAVORS = {
    "sfcperf.nano": (96, 1),
    "sfcperf.micro": (128, 1),
    "sfcperf.tiny": (192, 1),
    "sfcperf.small": (256, 1),
    "sfcperf.medium": (512, 1),
    "sfcperf.large": (1024, 2),
}
"""Memory in MiB, virtual processors; each with a disk of 1 GB, of which little is ever written."""
KERNEL_COMMAND_LINE = "console=ttyS0 quiet panic=1 mitigations=off"
IMAGES = {"sfcperf-guest": 192, "sfcperf-tiny": 96}
"""Name: the memory in MiB that it needs."""


def missing_workers(cloud: Any, hosts: Sequence[str]) -> set[str]:
    """Which services without an address (agents, schedulers, hypervisors) have not reported. Each
    of `hosts` is a hypervisor with a switch; the first one has all others."""
    first = hosts[0]
    services = {(name, first) for name in ("nova-scheduler", "nova-conductor")}
    services |= {("nova-compute", host) for host in hosts}
    agents = {(name, first) for name in ("DHCP agent", "L3 agent")}
    agents |= {("Open vSwitch agent", host) for host in hosts}
    missing = services - {(s.binary, s.host) for s in cloud.compute.services() if s.state == "up"}
    missing |= agents - {(a.agent_type, a.host) for a in cloud.network.agents() if a.is_alive}
    if not missing:
        known = {each.name for each in cloud.compute.hypervisors()}
        missing = {("hypervisor", host) for host in set(hosts) - known}
    return {f"{name} on {host}" for name, host in missing}


def flavors(cloud: Any) -> None:
    """Small ones: guests are emulated."""
    known = {flavor.name for flavor in cloud.compute.flavors(is_public=None)}
    for name, (memory_mib, vcpus) in FLAVORS.items():
        if name not in known:
            cloud.compute.create_flavor(name=name, ram=memory_mib, vcpus=vcpus, disk=1)


def networks(cloud: Any) -> None:
    """`management`, shared, on which the node is too; `external`, with addresses to give away."""
    _network(
        cloud,
        "management",
        {"is_shared": True, "provider_physical_network": "management"},
        {
            "cidr": MANAGEMENT_SUBNET,
            "gateway_ip": None,
            "allocation_pools": [{"start": "172.31.250.10", "end": "172.31.250.250"}],
        },
    )
    _network(
        cloud,
        "external",
        {"is_router_external": True, "provider_physical_network": "external"},
        {
            "cidr": EXTERNAL_SUBNET,
            "gateway_ip": EXTERNAL_GATEWAY,
            "is_dhcp_enabled": False,
            "allocation_pools": [{"start": "172.31.251.10", "end": "172.31.251.250"}],
        },
    )


def _network(cloud: Any, name: str, network: dict[str, Any], subnet: dict[str, Any]) -> None:
    made = cloud.network.find_network(name) or cloud.network.create_network(
        name=name, provider_network_type="flat", **network
    )
    if not made.subnet_ids:
        cloud.network.create_subnet(network_id=made.id, name=name, ip_version=4, **subnet)


def images(cloud: Any, layout: Layout) -> bool:
    """The guest images that are in the folder; False when Glance had all of them already."""
    files = layout.images
    kernel, new = _image(cloud, "sfcperf-kernel", files / "vmlinuz", "aki")
    for name, memory_mib in IMAGES.items():
        archive, changed = _image(cloud, f"{name}-initramfs", files / f"{name}.cpio", "ari")
        new |= changed
        boots = {"kernel_id": kernel.id, "ramdisk_id": archive.id}
        found = next(iter(cloud.image.images(name=name)), None)
        if found is not None:
            if {key: getattr(found, key) for key in boots} == boots:
                continue
            cloud.image.delete_image(found)
        new = True
        _create(
            cloud,
            name,
            files / "blank.raw",
            "raw",
            container_format="bare",
            min_ram=memory_mib,
            os_command_line=KERNEL_COMMAND_LINE,
            hw_rng_model="virtio",
            hw_video_model="none",
            **boots,
        )
    return new


def _image(cloud: Any, name: str, file: Path, form: str) -> tuple[Any, bool]:
    digest = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
    for found in cloud.image.images(name=name):
        if found.checksum == digest and found.status == "active":
            return found, False
        cloud.image.delete_image(found)
    made = _create(cloud, name, file, form, container_format=form)
    return cloud.image.get_image(made.id), True


def _create(cloud: Any, name: str, file: Path, form: str, **fields: Any) -> Any:
    return cloud.image.create_image(
        name=name,
        filename=str(file),
        disk_format=form,
        visibility="public",
        validate_checksum=False,
        wait=True,
        **fields,
    )
