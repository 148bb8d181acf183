"""How a server on an endpoint is started, gets a port and is saturated, and the base of probes that
need one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from sfcperf import plugins
from sfcperf.active.base import Probe
from sfcperf.active.tool_run import complaint
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.procfs import process_cpu_s, tcp_listening_ports, udp_ports

_POLL_S = 0.01
_HIGHEST_PORT = 65_535
_SATURATED = 0.95
"""Share of one CPU from which a single thread, such as nginx, counts as the bottleneck."""


class ServerProbe(Probe):
    """A probe that needs a server. `prepare` of the derived class sets `_port`, starts the server
    and keeps it in `_server`; `cleanup` stops it."""

    usual_port: ClassVar[int]
    """Port of the server, if the workflow declares none and no other program uses it."""
    _port: int
    """Port that the client of this trial connects to."""
    _server: Process | None = None
    """The running server; None before its start and after its end."""

    def cleanup(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def server_port(self, host: Host) -> int:
        """Return the port that the workflow declares, or else the first free port of the host from
        `usual_port` on. Raises MeasurementError when none is free."""
        declared: int | None = self.parameters.get("port")
        return free_port(host, self.usual_port) if declared is None else declared

    def server_cpu_s(self, host: Host, name: str) -> float:
        """Return the CPU time so far of the server, whose command is `name`, on its host, seconds.
        Raises MeasurementError when it does not run."""
        if self._server is None or self._server.poll() is not None:
            raise MeasurementError(
                f"{name} does not run", hint=f"see {name}.stderr.txt of the trial"
            )
        return process_cpu_s(host.read_text(f"/proc/{self._server.pid}/stat"))


def saturation_doubts(endpoint: str, tool_name: str, cpu_ratio: float | None) -> list[str]:
    """Say why the rate may be an endpoint's instead of the chain's: its tool was saturated.
    `endpoint` is `sender` or `server`. `cpu_ratio` is the share of one CPU that the tool used; None
    if the tool ended before its CPU time was read, and nothing is said then."""
    if cpu_ratio is None or cpu_ratio < _SATURATED:
        return []
    return [
        f"the {endpoint} was saturated ({tool_name} used {cpu_ratio:.0%} of a CPU): "
        "the rate is its own, not the chain's"
    ]


def port_parameter(description: str, usual: int, lowest: int = 1024) -> dict[str, Any]:
    """Return the JSON Schema of a parameter `port`, for which `lowest` is the least value. `usual`
    is only named in its description: `server_port` chooses the default."""
    return plugins.port(
        f"{description} Default: the port that the classifier matches; if it matches none, {usual} "
        "or, if another program uses that, the next free port. Set it if the knobs of a VNF name "
        "the port.",
        lowest,
    )


def free_port(host: Host, lowest: int) -> int:
    """Return the first port from `lowest` on that no TCP or UDP server on the host uses. Raises
    MeasurementError when there is none."""
    taken = _listening(host) | _used_udp_ports(host)
    for port in range(lowest, _HIGHEST_PORT + 1):
        if port not in taken:
            return port
    raise MeasurementError(f"no port from {lowest} on is free on {host.name}")


def start_server(
    host: Host,
    argv: Sequence[str],
    *,
    port: int,
    stdout: Path,
    stderr: Path,
    more_ports: Collection[int] = (),
    timeout_s: float = 30.0,
) -> Process:
    """Start a TCP server and return when it listens on `port` and `more_ports` (IPv4).

    Raises MeasurementError when one of them is taken, when the server ends, or when it does not
    listen within timeout_s.
    """
    ports = {port, *more_ports}
    if taken := sorted(ports & _listening(host)):
        raise MeasurementError(
            f"{argv[0]} cannot listen on {host.name}: TCP port {taken[0]} is taken",
            hint="choose another one with the probe's parameters, or end the program that uses it",
        )
    for path in (stdout, stderr):
        path.unlink(missing_ok=True)
    process = host.spawn(argv, stdout=stdout, stderr=stderr)
    try:
        if process.becomes(
            lambda: ports <= _listening(host), timeout_s=timeout_s, period_s=_POLL_S
        ):
            return process
        where, status = f"{argv[0]} on {host.name}", process.poll()
        if status is None:
            raise MeasurementError(f"{where} does not listen on port {port} after {timeout_s:g} s")
        said = complaint(*(file.read_text(errors="replace") for file in (stdout, stderr)))
        raise MeasurementError(
            f"{where} ended with {status} instead of serving: {said or 'it said nothing'}"
        )
    except BaseException:
        process.stop()
        raise


def _listening(host: Host) -> frozenset[int]:
    """Return the TCP ports that servers of IPv4 or IPv6 listen on. A server of IPv6 that listens on
    any address takes IPv4 connections as well, so its port is taken for both."""
    return tcp_listening_ports(host.read_text("/proc/net/tcp")) | tcp_listening_ports(
        _of_ipv6(host, "tcp6")
    )


def _used_udp_ports(host: Host) -> frozenset[int]:
    """Return the ports of all UDP sockets, of IPv4 or IPv6."""
    return udp_ports(host.read_text("/proc/net/udp")) | udp_ports(_of_ipv6(host, "udp6"))


def _of_ipv6(host: Host, table: str) -> str:
    """Return the text of a table of /proc/net for IPv6; empty where the kernel has no IPv6."""
    with suppress(MeasurementError):
        return host.read_text(f"/proc/net/{table}")
    return ""
