"""Namespaces joined by veths, and raw Ethernet ends to talk through them."""

from __future__ import annotations

import itertools
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from sfcperf import retry
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.process import inside

RETRY_S = 10.0
"""How long a test waits for what must come."""
QUIET_S = 0.1
"""After which a wire counts as still."""
_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_IGNORE_OUTGOING = 263, 23
_SO_RCVBUFFORCE = 33
_numbers = itertools.count()


@dataclass(frozen=True)
class Port:
    """An end of a veth."""

    host: NamespaceHost
    interface: str
    mac: str

    def wire(self) -> Wire:
        """A raw socket on it."""
        assert self.host.namespace is not None
        return Wire(self.host.namespace, self.interface)


class Wire:
    """Sends and receives whole frames on an interface."""

    def __init__(self, namespace: Path, interface: str) -> None:
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        # Beyond the limit of the machine, which root may.
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 23)
        self._socket.bind((interface, _ETH_P_ALL))

    def send(self, frames: Iterable[bytes]) -> None:
        for frame in frames:
            self._socket.send(frame)

    def receive_until(self, last: Callable[[bytes], bool]) -> list[bytes]:
        """Frames up to and without the one that `last` knows; fails when it does not come."""
        frames: list[bytes] = []
        deadline = time.monotonic() + RETRY_S
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._socket], [], [], left)[0]:
                break
            frame = self._socket.recv(65536)
            if last(frame):
                return frames
            frames.append(frame)
        raise AssertionError(f"the awaited frame did not come; {len(frames)} others did")

    def drain(self) -> list[bytes]:
        """Frames until none comes for a while, in order."""
        frames = []
        while select.select([self._socket], [], [], QUIET_S)[0]:
            frames.append(self._socket.recv(65536))
        return frames

    def waiting(self) -> list[bytes]:
        """Frames that have come."""
        frames = []
        while select.select([self._socket], [], [], 0)[0]:
            frames.append(self._socket.recv(65536))
        return frames

    def drain_some(self) -> list[bytes]:
        """One frame, if one comes within a while."""
        ready = select.select([self._socket], [], [], QUIET_S)[0]
        return [self._socket.recv(65536)] if ready else []

    def close(self) -> None:
        self._socket.close()


class Lab:
    """Makes namespaces, and leaves nothing behind."""

    def __init__(self, workdir: Path) -> None:
        self._workdir = self.outputs = workdir
        self._stack = ExitStack()
        self._tag = f"vnf-{os.getpid()}-{next(_numbers)}"
        self._macs = itertools.count(1)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    def at_end(self, action: Callable[[], object]) -> None:
        """Run before the namespaces go."""
        self._stack.callback(action)

    def host(self, name: str) -> NamespaceHost:
        space = f"{self._tag}-{name}"
        ip("netns", "add", space)
        self._stack.callback(ip, "netns", "delete", space)
        return NamespaceHost(name, space, self._workdir)

    def join(self, one: tuple[NamespaceHost, str], other: tuple[NamespaceHost, str]) -> list[Port]:
        """A veth between two hosts, both ends up, without IPv6's own chatter."""
        ports = [
            Port(host, name, f"02:00:00:00:00:{next(self._macs):02x}")
            for host, name in (one, other)
        ]
        here, there = ports
        one_end = [here.interface, "address", here.mac]
        other_end = [there.interface, "address", there.mac, "netns", space(there.host)]
        veth = [*one_end, "type", "veth", "peer", "name", *other_end]
        ip("-n", space(here.host), "link", "add", *veth)
        for port in ports:
            setting = f"net/ipv6/conf/{port.interface}/disable_ipv6=1"
            port.host.run(["sysctl", "-q", "-w", setting], timeout_s=10)
            ip("-n", space(port.host), "link", "set", port.interface, "up")
        # Until the kernel has noticed the carrier of the first one, that one drops what is sent.
        assert eventually(lambda: all(map(_is_up, ports)))
        return ports


class InLab(ABC):
    """What `_make` makes in a lab of its own, and what goes with it. Without `folder`, its path is
    short, as paths of sockets must be."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="lab-"))
        self.lab = Lab(self.folder)
        if folder is None:
            self.lab.at_end(lambda: shutil.rmtree(self.folder, ignore_errors=True))
        try:
            self._make()
        except BaseException:
            self.lab.close()
            raise

    @abstractmethod
    def _make(self) -> None:
        """Make it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.lab.close()


def _is_up(port: Port) -> bool:
    return "state UP" in ip("-n", space(port.host), "link", "show", port.interface)


def space(host: NamespaceHost) -> str:
    """Name of a host's namespace."""
    assert host.namespace is not None
    return host.namespace.name


def ip(*arguments: str) -> str:
    """Run `ip`."""
    done = subprocess.run(
        ["ip", *arguments], check=True, capture_output=True, text=True, timeout=10
    )
    return done.stdout


def eventually(condition: Callable[[], object], within_s: float = RETRY_S) -> bool:
    """Whether a condition comes true before patience ends."""
    return bool(retry.until(condition, timeout_s=within_s, period_s=0.01))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as made:
        yield made
