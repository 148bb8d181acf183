"""Several settings of interfaces, addresses and routes on a host, by one call of `ip`."""

from __future__ import annotations

from collections.abc import Iterable

from sfcperf.hosts.base import Host

_TIMEOUT_S = 30.0


def ip_batch(host: Host, lines: Iterable[str], *, force: bool = False) -> None:
    """Run lines of `ip -batch` (ip(8)) on a host. It ends at the first line that fails; with
    `force`, all lines are run, whichever fail. Raises MeasurementError unless `force`."""
    batch = "".join(f"{line}\n" for line in lines).encode()
    argv = ["ip", *(["-force"] if force else []), "-batch", "-"]
    host.run(argv, stdin=batch, timeout_s=_TIMEOUT_S, check=not force)
