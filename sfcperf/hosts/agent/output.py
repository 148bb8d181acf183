"""SpawnedProcess: a command in the background of an agent's machine, whose outputs are pipes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from sfcperf.hosts import process
from sfcperf.hosts.namespace import NamespaceHost


class SpawnedProcess:
    """A child of the agent. `serving.stream` sends what it prints."""

    def __init__(self, host: NamespaceHost, argv: Sequence[str], out: bool, err: bool) -> None:
        """Start the command on `host`. `out`, `err`: whether an output is wanted; otherwise it is
        discarded. Raises MeasurementError."""
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        self._popen = process.start(
            argv,
            namespace=host.namespace,
            cgroups=host.cgroups,
            stdout=pipe if out else none,
            stderr=pipe if err else none,
        )
        pipes = {"out": self._popen.stdout, "err": self._popen.stderr}
        self.outputs = {file.fileno(): name for name, file in pipes.items() if file is not None}
        """Descriptor of each wanted output -> `out` or `err`; reading does not block."""
        for output in self.outputs:
            os.set_blocking(output, False)
        self.end = os.fdopen(os.pidfd_open(self._popen.pid), "rb")
        """A file that is readable when the process has ended."""

    @property
    def pid(self) -> int:
        """Process id."""
        return self._popen.pid

    def status(self) -> int:
        """Wait for the end, and return the exit status, negative for a signal."""
        return self._popen.wait()

    def send_signal(self, number: int) -> None:
        """Send a signal; nothing happens if the process has ended."""
        self._popen.send_signal(number)

    def close(self) -> None:
        """Close the files. Call it when the process has ended."""
        for file in (self._popen.stdout, self._popen.stderr, self.end):
            if file is not None:
                file.close()
