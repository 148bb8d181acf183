"""The link between an SDN-Mon agent and its controller, where both are on one host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

_MTU, _USUAL_MTU = 1500, 65536
"""Of Ethernet, and of a loopback interface."""
_BURST_BYTES = 2 * (_MTU + 14)
_QUEUE_MS = 50
_TIMEOUT_S = 5.0


@contextmanager
def limited(host: Host, rate_bps: int) -> Iterator[None]:
    """Make the host's loopback interface as slow as a link of `rate_bps`, with its packet size,
    for the time of the context. It has no delay of its own. Raises MeasurementError."""
    bucket = ["tbf", "rate", f"{rate_bps}bit", "burst", f"{_BURST_BYTES}b"]
    try:
        _run(host, "ip", "link", "set", "lo", "mtu", str(_MTU))
        _run(host, "tc", "qdisc", "add", "dev", "lo", "root", *bucket, "latency", f"{_QUEUE_MS}ms")
        yield
    finally:
        # An error here would hide the first one, and the interface goes with its namespace.
        with suppress(MeasurementError):
            _run(host, "tc", "qdisc", "delete", "dev", "lo", "root")
        with suppress(MeasurementError):
            _run(host, "ip", "link", "set", "lo", "mtu", str(_USUAL_MTU))


def _run(host: Host, *argv: str) -> None:
    host.run(argv, timeout_s=_TIMEOUT_S)
