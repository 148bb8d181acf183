"""A network of namespaces for tools and servers that nobody else can reach or see.

The namespaces have no names. They exist as long as this process holds them open, so nothing is left
behind when it is killed. Actors and servers are at two bridges of the hub; the link between the
bridges is captured.

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
"""Prefix length of the network: all addresses are of 198.18.0.0/15, which is for benchmarks (RFC
2544, appendix C.2.2)."""
CAPTURE = "captured"
"""Interface of the hub that each packet between an actor and a server crosses once."""
MTU = 1400
"""MTU of actors and servers. It is the default MTU of endpoints, so that a trace can be sent
through chains, whose encapsulation needs the rest of 1500 bytes."""
_COMMAND_TIMEOUT_S = 30.0
_GRACE_S = 2.0
_SIDES = ("actors", "servers")
_OFFLOADS = ("tso", "gso", "gro", "tx", "rx")
"""Offloads that are turned off, so that a capture shows what would be on a wire: no packet above
the MTU, and all checksums."""


class Testbed:
    """The network of actors and servers, which exists as long as the `with` block lasts."""

    def __init__(self) -> None:
        self._open = ExitStack()
        """Closes the descriptors of all namespaces, which ends them."""
        self._namespaces: dict[str, Path] = {}
        """Machine -> path by which its namespace is entered."""
        self._processes: list[Popen[bytes]] = []
        """What `start` has started, in this order."""

    def __enter__(self) -> Self:
        """Make the hub: two bridges, and between them the link that is captured."""
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
        """End all commands and namespaces."""
        self.stop_all()
        self._open.close()

    def add(self, name: str, addresses: Sequence[str], *, server: bool) -> None:
        """Add a machine, a server or an actor, with these addresses. It sends from the first one.
        Raises MeasurementError."""
        own = self._namespace(name)
        outer = f"to{len(self._namespaces)}"
        link = ["ip", "link", "add", "eth0", "mtu", str(MTU), "type", "veth", "peer", "name", outer]
        self.run(name, link)
        self._without_offloads(name, "eth0", outer)
        hub = str(self._namespaces["hub"])
        with process.inside(own):
            # `ip` could not move it: the hub has no name, and is only known by its descriptor.
            self._move(outer, hub)
        self._join(outer, _SIDES[server])  # False is 0, the side of the actors
        for address in addresses:
            add = ["ip", "address", "add", f"{address}/{PREFIX_LENGTH}", "dev", "eth0"]
            self.run(name, add)
        self.run(name, ["ip", "link", "set", "eth0", "up"])

    def run(self, name: str, argv: Sequence[str], *, timeout_s: float = _COMMAND_TIMEOUT_S) -> str:
        """Run a command on a machine to its end, and return what it prints. Raises
        MeasurementError when it fails."""
        namespace = self._namespaces[name]
        return process.run(_with_us(argv), timeout_s=timeout_s, namespace=namespace).text

    def start(self, name: str, argv: Sequence[str], output: Path) -> Popen[bytes]:
        """Start a command on a machine in the background. What it prints goes to the file `output`.
        Raises MeasurementError when it cannot be started."""
        namespace = self._namespaces[name]
        started = process.start(_with_us(argv), namespace=namespace, stdout=output, stderr=output)
        self._processes.append(started)
        return started

    def stop_all(self) -> None:
        """End all commands that `start` has started and that still run, the last one first."""
        for started in reversed(self._processes):
            stop(started)
        self._processes.clear()

    def _namespace(self, name: str) -> Path:
        """Make the namespace of a machine, without IPv6, and return the path by which it is
        entered. It exists as long as its descriptor is open."""
        file = _new_namespace()
        self._open.callback(os.close, file)
        self._namespaces[name] = Path(f"/proc/{os.getpid()}/fd/{file}")
        self.run(name, ["ip", "link", "set", "lo", "up"])
        # With IPv6, the kernel would send neighbour discovery and router solicitations, which are
        # no actor's traffic.
        for scope in ("all", "default"):
            self.run(name, ["sysctl", "-q", "-w", f"net.ipv6.conf.{scope}.disable_ipv6=1"])
        return self._namespaces[name]

    def _join(self, interface: str, bridge: str) -> None:
        """Make an interface of the hub a port of one of its bridges."""
        self.run("hub", ["ip", "link", "set", interface, "master", bridge, "up"])

    def _without_offloads(self, name: str, *interfaces: str) -> None:
        """Turn all _OFFLOADS of a machine's interfaces off."""
        off = [word for offload in _OFFLOADS for word in (offload, "off")]
        for interface in interfaces:
            self.run(name, ["ethtool", "-K", interface, *off])

    @staticmethod
    def _move(interface: str, namespace: str) -> None:
        """Move an interface of the current namespace to another one, given by its path."""
        from pyroute2 import IPRoute

        target = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with IPRoute() as link:
                link.link("set", index=link.link_lookup(ifname=interface)[0], net_ns_fd=target)
        finally:
            os.close(target)


def stop(started: Popen[bytes]) -> None:
    """End a command and all that it has started: by SIGTERM, and after at most 2 s by SIGKILL."""
    # SIGKILL always follows: the command may have ended, and a process that it started may not.
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(started.pid, number)
        if number == signal.SIGTERM:
            process.has_ended(started, _GRACE_S)
    started.wait()


def _with_us(argv: Sequence[str]) -> list[str]:
    """Return the command in a form in which it ends when this process does (prctl(2),
    PR_SET_PDEATHSIG)."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def _new_namespace() -> int:
    """Make a network namespace, and return a descriptor that keeps it in existence. This thread
    enters it and returns to its own."""
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
    """Move this thread into a new network namespace. Raises MeasurementError without the right
    to."""
    # os.unshare exists only from Python 3.12 on.
    import ctypes

    clone_newnet = 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(clone_newnet):
        number = ctypes.get_errno()
        raise MeasurementError(
            f"no network namespace can be made: {os.strerror(number)}", hint="run as root"
        )
