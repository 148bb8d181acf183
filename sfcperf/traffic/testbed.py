"""A network of namespaces for tools and servers that nobody else can reach or see.

The namespaces have no names: they exist as long as this process holds them open, so that nothing is
left of a process that was killed.

    actor ... actor - [hub: bridge - bridge] - server ... server
                             ^ capture
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import Popen
from typing import Self

from sfcperf.errors import MeasurementError
from sfcperf.hosts import process

PREFIX_LENGTH = 15
"""All addresses are of 198.18.0.0/15, for benchmarks (RFC 2544, appendix C.2.2)."""
CAPTURE = "captured"
"""Interface of the hub that each packet between an actor and a server crosses once."""
MTU = 1400
"""Of actors and servers: that of endpoints by default, so that a trace can be sent through chains,
whose encapsulation needs the rest of 1500 bytes."""
_COMMAND_TIMEOUT_S = 30.0
_GRACE_S = 2.0
_SIDES = ("actors", "servers")
_OFFLOADS = ("tso", "gso", "gro", "tx", "rx")
"""Without these a capture shows what would be on a wire: no packet above the MTU, all checksums."""


class Testbed:
    """The network, for as long as the `with` block lasts."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._namespaces: dict[str, Path] = {}
        self._processes: list[Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._namespace("hub")
            self.run("hub", ["ip", "link", "add", CAPTURE, "type", "veth", "peer", "name", "far"])
            self._without_offloads("hub", CAPTURE, "far")
            for side, interface in zip(_SIDES, (CAPTURE, "far"), strict=True):
                # Without multicast snooping and spanning tree, the bridge itself sends nothing.
                self.run("hub", ["ip", "link", "add", side, "type", "bridge", "mcast_snooping", "0",
                                 "stp_state", "0"])  # fmt: skip
                self._join(interface, side)
                self.run("hub", ["ip", "link", "set", side, "up"])
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_all()
        self._open.close()

    def add(self, name: str, addresses: Sequence[str], *, server: bool) -> None:
        """A machine with these addresses, the first of which is the source of what it sends. Raises
        MeasurementError."""
        own = self._namespace(name)
        outer = f"to{len(self._namespaces)}"
        link = ["ip", "link", "add", "eth0", "mtu", str(MTU), "type", "veth", "peer", "name", outer]
        self.run(name, link)
        self._without_offloads(name, "eth0", outer)
        hub = str(self._namespaces["hub"])
        with process.inside(own):
            # Only a descriptor names the hub.
            self._move(outer, hub)
        self._join(outer, _SIDES[server])
        for address in addresses:
            add = ["ip", "address", "add", f"{address}/{PREFIX_LENGTH}", "dev", "eth0"]
            self.run(name, add)
        self.run(name, ["ip", "link", "set", "eth0", "up"])

    def run(self, name: str, argv: Sequence[str], *, timeout_s: float = _COMMAND_TIMEOUT_S) -> str:
        """A command on a machine, to its end; gives what it prints. Raises MeasurementError."""
        namespace = self._namespaces[name]
        return process.run(_with_us(argv), timeout_s=timeout_s, namespace=namespace).text

    def start(self, name: str, argv: Sequence[str], output: Path) -> Popen[bytes]:
        """A command on a machine, in the background; what it prints goes to the file. Raises
        MeasurementError."""
        namespace = self._namespaces[name]
        started = process.start(_with_us(argv), namespace=namespace, stdout=output, stderr=output)
        self._processes.append(started)
        return started

    def stop_all(self) -> None:
        """End what still runs, the last one first."""
        for started in reversed(self._processes):
            stop(started)
        self._processes.clear()

    def _namespace(self, name: str) -> Path:
        file = _new_namespace()
        self._open.callback(os.close, file)
        self._namespaces[name] = Path(f"/proc/{os.getpid()}/fd/{file}")
        self.run(name, ["ip", "link", "set", "lo", "up"])
        # Neighbour discovery and router solicitations are nobody's traffic.
        for scope in ("all", "default"):
            self.run(name, ["sysctl", "-q", "-w", f"net.ipv6.conf.{scope}.disable_ipv6=1"])
        return self._namespaces[name]

    def _join(self, interface: str, bridge: str) -> None:
        self.run("hub", ["ip", "link", "set", interface, "master", bridge, "up"])

    def _without_offloads(self, name: str, *interfaces: str) -> None:
        off = [word for offload in _OFFLOADS for word in (offload, "off")]
        for interface in interfaces:
            self.run(name, ["ethtool", "-K", interface, *off])

    @staticmethod
    def _move(interface: str, namespace: str) -> None:
        from pyroute2 import IPRoute

        target = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with IPRoute() as link:
                link.link("set", index=link.link_lookup(ifname=interface)[0], net_ns_fd=target)
        finally:
            os.close(target)


def stop(started: Popen[bytes]) -> None:
    """SIGTERM, then SIGKILL, for the command and what it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(started.pid, number)
        if number == signal.SIGTERM:
            process.has_ended(started, _GRACE_S)
    started.wait()


def _with_us(argv: Sequence[str]) -> list[str]:
    """The command, which ends when this process does (prctl(2), PR_SET_PDEATHSIG)."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def _new_namespace() -> int:
    """A descriptor of a new network namespace."""
    from pyroute2.netns import setns

    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _unshare_network()
        try:
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            setns(home)
    finally:
        os.close(home)


def _unshare_network() -> None:
    import ctypes

    clone_newnet = 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(clone_newnet):
        number = ctypes.get_errno()
        raise MeasurementError(
            f"no network namespace can be made: {os.strerror(number)}", hint="run as root"
        )
