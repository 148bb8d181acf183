"""A command in the background on a host that is reached by SSH."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfcperf import waiting
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.hosts.ssh.loop import call

if TYPE_CHECKING:
    from sfcperf.hosts.ssh.link import Link
    from sfcperf.hosts.ssh.session import Session

_KILLED_TIMEOUT_S = 10.0


class SshProcess(Process):
    """A command in the background on a host that is reached by SSH. It ends at the latest with the
    connection through which it was started: then its status is that of SIGKILL, and its standard
    error says why."""

    def __init__(self, argv: Sequence[str], link: Link, session: Session) -> None:
        self.argv = tuple(argv)
        self._link = link
        self._session = session

    @property
    def pid(self) -> int:
        """Process id on the host."""
        return self._session.pid

    def poll(self) -> int | None:
        """Exit status, or None while the command runs; takes no round trip."""
        return self._status() if self._session.over.is_set() else None

    def wait(self, timeout_s: float) -> int:
        """Wait for the end; raises MeasurementError after timeout_s."""
        if not self._session.over.wait(timeout_s):
            raise MeasurementError(f"{self.argv[0]} still runs after {timeout_s:g} s")
        return self._status()

    def send_signal(self, number: int) -> None:
        """Send a signal; the host checks that the process is still the same one."""
        if not self._session.over.is_set():
            call(self._link.signal(self._session, number))

    def stop(self, grace_s: float = 2.0) -> int:
        """Send SIGTERM, and SIGKILL after grace_s; return the exit status."""
        with waiting.shielded():
            self.send_signal(signal.SIGTERM)
            if not self._session.over.wait(grace_s):
                self.send_signal(signal.SIGKILL)
            return self.wait(_KILLED_TIMEOUT_S)

    def _status(self) -> int:
        """Exit status of the ended command. Raises MeasurementError when its output could not be
        written."""
        for output in (self._session.stdout, self._session.stderr):
            if output.fault is not None:
                raise MeasurementError(
                    f"the output of {self.argv[0]} cannot be written: {output.fault.strerror}"
                )
        return self._session.status
