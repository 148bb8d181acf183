"""Proof that the data planes of a chain's functions carry its packets, and nothing beside them.

Captures show that packets cross a function's host, not what carries them there: if HAProxy lacks
its redirection, the kernel forwards, and packets cross the host in the right order all the same. So
the processes that are a function's data plane are stopped: packets that still cross go round
them. Of a data plane in the kernel, the function's own counters must rise. No packet crosses a
process that ends connections: the client opens one, and the function must have two.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from sfcperf import retry
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import process_stat, tcp_peers
from sfcperf.management.deployment import Redirection, ServiceFunction

PROCESS = "process"
"""Method: while the function's processes were stopped, no packet arrived."""
COUNTERS = "counters"
"""Method: the function's own counter of forwarded packets rose."""
CONNECTIONS = "connections"
"""Method: what a client sent reached the server, but not while the function's processes were
stopped; of TCP, the function had one connection with each of them."""
CROSSING_TIMEOUT_S = 2.0
"""Time for packets to arrive that nothing holds up."""
STOPPED_S = 0.2
"""How long a function's processes are stopped while packets try to cross; longer where packets take
more than a third of it when nothing is stopped."""
_STOP_TIMEOUT_S = 5.0
_COMMAND_TIMEOUT_S = 30.0
_POLL_S = 0.001

Cross = Callable[[float], int]
"""Sends marked packets from the client, and returns how many reach the server within so many
seconds; at once when all have."""


@dataclass(frozen=True)
class Ends:
    """Both ends of a chain, as they open connections through it."""

    client: str
    server: str
    """IPv4 addresses."""
    connect: Callable[[Redirection, int, float], AbstractContextManager[bool]]
    """Sends a request from the client to a redirected port of the server, which listens meanwhile
    where the redirection leads, and yields whether data reaches it within so many seconds; at once
    when it does. The server never answers. Connections (TCP) stay open while the block lasts."""


@dataclass(frozen=True)
class DataPlanes:
    """How it was checked that the data planes of a chain's functions carry its packets."""

    methods: Mapping[str, str]
    """Function -> PROCESS, COUNTERS or CONNECTIONS (TraversalProof.data_planes)."""
    problems: tuple[str, ...]
    """What contradicts it; empty if all do."""


def prove(
    functions: Sequence[ServiceFunction], cross: Cross, ends: Ends | None = None
) -> DataPlanes:
    """Check the data planes of functions on a path that is proven. A packet that is lost now says
    nothing about them. It takes at least STOPPED_S for each function whose data plane is a process,
    and for each port that is redirected. `ends`: None where the driver opens no connections. Raises
    DeploymentError if a process does not stop, and MeasurementError if it has ended, or if counters
    cannot be read."""
    if not functions:
        return DataPlanes({}, ())
    methods = {function.name: _method(function) for function in functions}
    in_kernel = [function for function in functions if not function.data_plane_pids]
    started = time.monotonic()
    arrived, problems = _counted(in_kernel, cross)
    stopped_s = max(STOPPED_S, 3 * (time.monotonic() - started))
    if problems:
        # On a cloud, nat's counter once missed a packet that captures saw cross it; it is not known
        # why. What goes round a function does so each time.
        arrived, problems = _counted(in_kernel, cross)
    if not arrived:
        return DataPlanes(methods, ("no packet from client to server arrives any more",))
    for function in functions:
        if function.redirection is not None:
            problems += _of_connections(function, function.redirection, ends)
        elif function.data_plane_pids:
            with _stopped(function):
                arrived = cross(stopped_s)
            if arrived:
                problems.append(
                    f"{function.name}: packets cross it while its process is stopped, so something "
                    "else carries them, such as the kernel of its host"
                )
    return DataPlanes(methods, tuple(problems))


def _counted(functions: Sequence[ServiceFunction], cross: Cross) -> tuple[int, list[str]]:
    """Send marked packets, and return how many arrived, and which functions counted fewer."""
    before = [_forwarded(function) for function in functions]
    arrived = cross(CROSSING_TIMEOUT_S)
    return arrived, [
        f"{function.name} counted {rose} of {arrived} packets from client to server as forwarded, "
        "so something beside its data plane carries packets"
        for function, count in zip(functions, before, strict=True)
        if (rose := _forwarded(function) - count) < arrived
    ]


def _method(function: ServiceFunction) -> str:
    if function.redirection is not None:
        return CONNECTIONS
    return PROCESS if function.data_plane_pids else COUNTERS


def _of_connections(
    function: ServiceFunction, redirection: Redirection, ends: Ends | None
) -> Iterator[str]:
    """Yield what contradicts that the function ends the connections of its redirection."""
    if ends is None:
        yield f"{function.name} ends connections, and this driver opens none to prove that"
        return
    for port in redirection.ports:
        what = f"{function.name}, {redirection.protocol} port {port}"
        started = time.monotonic()
        with ends.connect(redirection, port, CROSSING_TIMEOUT_S) as arrived:
            stopped_s = max(STOPPED_S, 3 * (time.monotonic() - started))
            if arrived and redirection.protocol == "tcp":
                lacking = {ends.client, ends.server} - _peers(function.host)
                yield from (f"{what}: it has no connection with {end}" for end in sorted(lacking))
        if not arrived:
            yield f"{what}: what a client sends does not reach the server"
            continue
        with _stopped(function), ends.connect(redirection, port, stopped_s) as arrived:
            if arrived:
                yield (
                    f"{what}: connections cross it while its process is stopped, so they are not "
                    "its own: something beside it carries them, such as the kernel of its host"
                )


def _peers(host: Host) -> frozenset[str]:
    """Return the IPv4 addresses of the other ends of a host's TCP connections. Raises
    MeasurementError."""
    found = tcp_peers(host.read_text("/proc/net/tcp"))
    # Sockets of IPv6 take IPv4 as well; a kernel without IPv6 has no such table.
    with suppress(MeasurementError):
        found |= tcp_peers(host.read_text("/proc/net/tcp6"))
    return found


def _forwarded(function: ServiceFunction) -> int:
    counters: Mapping[str, int] = function.counters()
    return counters["forwarded"]


@contextmanager
def _stopped(function: ServiceFunction) -> Iterator[None]:
    """Stop the processes of a function's data plane while the block lasts."""
    host, pids = function.host, function.data_plane_pids
    try:
        _signal(host, signal.SIGSTOP, pids)
        if not retry.until(
            lambda: all(_is_stopped(host, pid) for pid in pids),
            timeout_s=_STOP_TIMEOUT_S,
            period_s=_POLL_S,
        ):
            raise DeploymentError(
                f"{function.name}: its process does not stop within {_STOP_TIMEOUT_S:g} s of "
                "SIGSTOP, so it cannot be shown that it carries packets",
                where=host.name,
            )
        yield
    finally:
        # If it has ended meanwhile, the driver's check of the functions says so.
        with suppress(MeasurementError):
            _signal(host, signal.SIGCONT, pids)


def _signal(host: Host, number: signal.Signals, pids: Sequence[int]) -> None:
    """Send a signal to processes of a host. Raises MeasurementError."""
    host.run(["kill", f"-{int(number)}", *map(str, pids)], timeout_s=_COMMAND_TIMEOUT_S)


def _is_stopped(host: Host, pid: int) -> bool:
    """Whether a process is stopped. Raises MeasurementError if there is none of this id."""
    return process_stat(host.read_text(f"/proc/{pid}/stat")).state == "T"
