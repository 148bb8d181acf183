"""The router as a VNF type: plain kernel forwarding, which knows nothing of NSH."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.kernel_forwarding import KernelForwarding


class Router(NetworkFunction):
    """Forwards IPv4 between its two interfaces, as a host behind an SFC proxy sees packets."""

    name: ClassVar[str] = "router"
    title: ClassVar[str] = "IPv4 router of the Linux kernel, NSH-unaware (behind an SFC proxy)"
    nsh_aware: ClassVar[bool] = False
    interfaces: ClassVar[int] = 2
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {},
    }

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """`ip` and `sysctl`."""
        return kernel_forwarding.requirements()

    @classmethod
    def start(
        cls,
        host: Host,
        attachment: Attachment,
        knobs: Mapping[str, Any],
    ) -> KernelForwarding:
        """Routes and permanent neighbours for both endpoints, then forwarding on."""
        with kernel_forwarding.deployment_errors(host, attachment):
            running = KernelForwarding(host, attachment)
            with kernel_forwarding.all_or_nothing(running):
                running.add_routes()
                running.forward()
        return running
