"""Machine: a machine that holds nodes. What a deployment creates, reads and removes there, it does
by functions that the machine calls."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from sfcperf.drivers.base import Resource
from sfcperf.drivers.local import cleanup
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.vnfs.base import Management

P = ParamSpec("P")
T = TypeVar("T")

_CLOCK_READINGS = 5


class Machine(ABC):
    """A machine that holds nodes. Many threads may use one object."""

    name: str
    """Name of the machine; empty for the one that runs sfcperf."""
    workdirs: Path
    """Folder on the machine for the files of hosts, removed with each deployment."""
    management: Management
    """Where functions on the machine are managed."""

    @abstractmethod
    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of this package on the machine, or make an object there. Raises what the
        function raises."""

    @abstractmethod
    def host(self, name: str, namespace: str, workdir: Path, cgroups: Sequence[Path]) -> Host:
        """Return a host in a namespace of the machine; see NamespaceHost."""

    def stop(self, resources: Sequence[Resource]) -> None:
        """Kill the processes of resources, where they disturb other machines. By default, `remove`
        kills them."""
        return

    def remove(self, resources: Sequence[Resource]) -> None:
        """Remove resources of the machine. Raises DeploymentError."""
        cleanup.remove_resources(resources)

    def reconnect(self) -> None:
        """Make a connection that was lost again. Raises DeploymentError."""
        return

    def intend(self, resources: Sequence[Resource]) -> None:
        """Note on the machine itself what is about to be created there. By default, the run's
        journal is enough."""
        return

    def removed(self, resources: Sequence[Resource]) -> None:
        """Note on the machine itself what is gone."""
        return

    def clock_offset_ns(self) -> int:
        """Return by how much the machine's clock is ahead of ours, nanoseconds; the error is half
        of the fastest of a few round trips at most (as NTP does, RFC 5905, section 8)."""
        answers = []
        for _ in range(_CLOCK_READINGS):
            asked_ns = time.monotonic_ns()
            theirs_ns = self.call(time.time_ns)
            took_ns = time.monotonic_ns() - asked_ns
            answers.append((took_ns, theirs_ns - (time.time_ns() - took_ns // 2)))
        return min(answers)[1]

    def in_journal(self, resource: Resource) -> Resource:
        """Return a resource of the machine as a run's journal names it."""
        return resource


class ThisMachine(Machine):
    """The machine that runs sfcperf."""

    name = ""

    def __init__(self, workdirs: Path) -> None:
        self.workdirs = workdirs
        # Functions share this machine with sfcperf, so they are managed in the namespace of
        # sfcperf.
        self.management = Management("127.0.0.1", Path(f"/proc/{os.getpid()}/ns/net"))

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function."""
        return function(*args, **kwargs)

    def host(self, name: str, namespace: str, workdir: Path, cgroups: Sequence[Path]) -> Host:
        """Return the NamespaceHost itself."""
        return NamespaceHost(name, namespace, workdir, cgroups)

    def clock_offset_ns(self) -> int:
        """Return 0: it is our own clock."""
        return 0


def make_folder(path: Path) -> None:
    """Make a folder of the machine that runs this, with those above it."""
    path.mkdir(parents=True, exist_ok=True)
