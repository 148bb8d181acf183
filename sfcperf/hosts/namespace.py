"""NamespaceHost: a named network namespace of this machine (`ip netns list` shows it)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts import process
from sfcperf.hosts.base import CompletedCommand, Conversation, Host, Process
from sfcperf.hosts.local_conversation import LocalConversation

NETNS_FOLDER = Path("/run/netns")
"""Where `ip netns` keeps a file for each named namespace."""
LIMITS_FOLDER = "/proc/sys/net/core/"


class NamespaceHost(Host):
    """A Host whose commands run in a network namespace of this machine, and in cgroups when the
    instance has some.

    Only the network is the namespace's own; files and processes are this machine's.
    """

    def __init__(
        self, name: str, namespace: str | None, workdir: Path, cgroups: Sequence[Path] = ()
    ) -> None:
        """`namespace` None: the one in which sfcperf runs. `cgroups` are `cgroup.procs` files."""
        self.name = name
        self.namespace = None if namespace is None else NETNS_FOLDER / namespace
        self.workdir = workdir
        self.cgroups = tuple(cgroups)

    def run_unchecked(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        """Run the command in the namespace and the cgroups, and wait for its end."""
        return process.run(
            argv,
            timeout_s=timeout_s,
            stdin=stdin,
            check=False,
            namespace=self.namespace,
            cgroups=self.cgroups,
        )

    def spawn(
        self, argv: Sequence[str], *, stdout: Path | None = None, stderr: Path | None = None
    ) -> Process:
        """Start the command in the namespace and the cgroups; output without a file is dropped."""
        popen = process.start(
            argv,
            namespace=self.namespace,
            cgroups=self.cgroups,
            stdout=subprocess.DEVNULL if stdout is None else stdout,
            stderr=subprocess.DEVNULL if stderr is None else stderr,
        )
        return process.LocalProcess(argv, popen)

    def converse(self, argv: Sequence[str]) -> Conversation:
        """Start the command in the namespace and the cgroups; its stdin and stdout are pipes."""
        popen = process.start(
            argv,
            namespace=self.namespace,
            cgroups=self.cgroups,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return LocalConversation(argv, popen)

    def read_text(self, path: str) -> str:
        """Read a file as a thread inside the namespace sees it: `/proc/net` is the namespace's."""
        # /proc/net belongs to the process's main thread; this thread's own view is thread-self.
        if path.startswith("/proc/net/"):
            path = "/proc/thread-self/net/" + path.removeprefix("/proc/net/")
        with system_errors_as(MeasurementError, f"cannot be read on {self.name}", where=path):
            try:
                with process.inside(self.namespace):
                    return Path(path).read_text()
            except FileNotFoundError:
                # Some limits hold in all namespaces and are shown only in the machine's first one
                # (those of socket buffers up to Linux 6.8): read them there.
                if not path.startswith(LIMITS_FOLDER):
                    raise
                return Path(path).read_text()

    def put(self, local: Path, remote: Path) -> None:
        """Copy a file. The folder of the copy is made if it is not there."""
        _copy(local, remote)

    def get(self, remote: Path, local: Path) -> None:
        """Copy a file. The folder of the copy is made if it is not there."""
        _copy(remote, local)

    def program(self, local: Path) -> str:
        """Return the path of the file itself: the namespace sees this machine's files."""
        return str(local)


def _copy(source: Path, target: Path) -> None:
    """Copy a file of this machine, unless both paths are the same file. Raises MeasurementError."""
    with (
        system_errors_as(MeasurementError, f"cannot be copied to {target}", where=source),
        suppress(shutil.SameFileError),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


class LocalHost(NamespaceHost):
    """This machine as it is: commands run where sfcperf runs."""

    def __init__(self, workdir: Path) -> None:
        super().__init__("localhost", None, workdir)
