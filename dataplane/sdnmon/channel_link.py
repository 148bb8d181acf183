"""The link between an SDN-Mon agent and its controller, where both are on one host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

_MTU, _USUAL_MTU = 1500, 65536
"""Of Ethernet, and of a loopback interface."""
_BURST_S = 0.001
_QUEUE_MS = 1000
"""What would wait for longer is dropped, as by the queue of a NIC."""
_TIMEOUT_S = 5.0


@contextmanager
def limited(host: Host, rate_bps: int) -> Iterator[None]:
    """Make the host's loopback interface as slow as a link of `rate_bps`, with its packet size,
    for the time of the context. It has no delay of its own. Raises MeasurementError."""
    burst = max(2 * (_MTU + 14), round(rate_bps * _BURST_S / 8))
    bucket = ["tbf", "rate", f"{rate_bps}bit", "burst", f"{burst}b", "latency", f"{_QUEUE_MS}ms"]
    try:
        _run(host, "ip", "link", "set", "lo", "mtu", str(_MTU))
        _run(host, "tc", "qdisc", "replace", "dev", "lo", "root", *bucket)
        yield
    except BaseException:
        with suppress(MeasurementError):  # it would hide the first error
            _undo(host)
        raise
    _undo(host)


def _undo(host: Host) -> None:
    # In this order, because there may be no bucket: `tc` may have been what failed.
    _run(host, "ip", "link", "set", "lo", "mtu", str(_USUAL_MTU))
    _run(host, "tc", "qdisc", "delete", "dev", "lo", "root")


def _run(host: Host, *argv: str) -> None:
    host.run(argv, timeout_s=_TIMEOUT_S)
