"""XDP_PASS on the SFF's end of a veth: a frame returned by XDP_TX is delivered only then."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.hosts.base import Host
from sfcperf.vnfs.binaries import binary

TIMEOUT_S = 5.0


def attach_pass(host: Host, interfaces: Sequence[str]) -> None:
    """Attach it, in native mode; it stays until the interface goes.

    Raises MeasurementError when the kernel refuses.
    """
    argv = [str(binary("sfc-forwarder")), "--attach-pass", *interfaces]
    host.run(argv, timeout_s=TIMEOUT_S)
