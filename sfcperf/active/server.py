"""A server on an endpoint, from its start until it is stopped, and the probes that need one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.active.base import Probe
from sfcperf.active.tool_run import last_lines
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.procfs import tcp_listening_ports

_POLL_S = 0.01


class ServerProbe(Probe):
    """A probe whose server `prepare` starts."""

    _server: Process | None = None

    def cleanup(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._server.stop()
            self._server = None


def start_server(
    host: Host,
    argv: Sequence[str],
    *,
    port: int,
    stdout: Path,
    stderr: Path,
    timeout_s: float = 30.0,
) -> Process:
    """Start a TCP server and return when it listens on `port` (IPv4).

    Raises MeasurementError when the port is taken, when the server ends, or when it does not
    listen within timeout_s.
    """
    if port in _listening(host):
        raise MeasurementError(
            f"{argv[0]} cannot listen on {host.name}: TCP port {port} is taken",
            hint="choose another one with the probe's parameter `port`",
        )
    for path in (stdout, stderr):
        path.unlink(missing_ok=True)
    process = host.spawn(argv, stdout=stdout, stderr=stderr)
    try:
        if process.becomes(lambda: port in _listening(host), timeout_s=timeout_s, period_s=_POLL_S):
            return process
        where, status = f"{argv[0]} on {host.name}", process.poll()
        if status is None:
            raise MeasurementError(f"{where} does not listen on port {port} after {timeout_s:g} s")
        said = last_lines(stderr.read_text(errors="replace")) or "nothing on stderr"
        raise MeasurementError(f"{where} ended with {status} instead of serving: {said}")
    except BaseException:
        process.stop()
        raise


def _listening(host: Host) -> frozenset[int]:
    return tcp_listening_ports(host.read_text("/proc/net/tcp"))
