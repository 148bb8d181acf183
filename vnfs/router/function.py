"""The router as a VNF type: plain kernel forwarding, which knows nothing of NSH."""

from __future__ import annotations

from sfcperf.plugins import object_schema
from sfcperf.vnfs.kernel_forwarding import KernelFunction


class Router(KernelFunction):
    """Forwards IPv4 between its two interfaces."""

    name = "router"
    title = "IPv4 router of the Linux kernel"
    parameters = object_schema({})
