"""How large a socket's buffers may be on the hosts of both endpoints."""

from __future__ import annotations

from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment

_LIMITS = ("/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max")


def largest_buffer_bytes(deployment: Deployment, wanted: int) -> int | None:
    """`wanted`, or the least of the hosts' limits when that is smaller.

    None when a host does not show its limits (before Linux 6.9 a container with a network
    namespace of its own has no such files): then nothing is known that would surely be granted.
    """
    hosts = (deployment.client.host, deployment.server.host)
    try:
        limits = [int(host.read_text(path)) for host in hosts for path in _LIMITS]
    except (MeasurementError, ValueError):
        return None
    return min(wanted, *limits)
