"""Processes of services: each has a mark in its environment, by which all of them are found and
ended.

The mark, a random word, is in the journal before the process starts. Whatever the process starts
inherits it, even in a session of its own. No other process ever has it, so none is killed by
mistake: neither when a process id is used again nor after a restart of the machine.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from sfcperf import retry, waiting
from sfcperf.drivers.base import Journal, Resource
from sfcperf.errors import DeploymentError, EnvironmentLacks, MeasurementError
from sfcperf.hosts import process
from sfcperf.hosts.process import LocalProcess

VARIABLE = "SFCPERF_SERVICE_PROCESS"
"""Environment variable that holds the mark."""
KIND = "process"
"""Kind of a process in the journal; the resource's name is the mark."""
_END_TIMEOUT_S = 60.0
_LOOK_S = 0.02


class Processes:
    """Starts the processes of one service, and notes them in its journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def spawn(self, command: Sequence[str], output: Path) -> MarkedProcess:
        """Start a command with a new mark, which is put into the journal first. Its stdout and
        stderr go to `output`. Raises EnvironmentLacks when it cannot be started."""
        mark = secrets.token_hex(16)
        resource = Resource(KIND, mark, {"command": command[0]})
        self._journal.intend([resource])
        try:
            popen = process.start(command, stdout=output, stderr=output, variables={VARIABLE: mark})
        except MeasurementError as error:
            self._journal.removed([resource])
            raise error.as_kind(EnvironmentLacks) from error
        return MarkedProcess(command, popen, lambda: self._journal.removed([resource]), mark)


class MarkedProcess(LocalProcess):
    """A process of a service. `stop` also ends the processes that it started."""

    def __init__(
        self,
        argv: Sequence[str],
        popen: Popen[bytes],
        removed: Callable[[], None],
        mark: str,
    ) -> None:
        """`removed` notes in the journal that the process is gone."""
        super().__init__(argv, popen)
        self._removed = removed
        self._mark = mark

    def stop(self, grace_s: float = 2.0) -> int:
        """Send SIGTERM, and SIGKILL after grace_s; return the exit status. Processes that this one
        started and left get SIGKILL. Raises DeploymentError for what does not end."""
        status = super().stop(grace_s)
        # A signal to the run must not end this half-way.
        with waiting.shielded():
            kill([self._mark])
        self._removed()
        return status


def undo(resources: Iterable[Resource], *, dry_run: bool) -> list[str]:
    """End the processes of these resources; return a line for each that was (with `dry_run`: would
    be) ended. Raises DeploymentError for those that do not end."""
    # Mark -> the program that was started with it.
    commands = {resource.name: (resource.detail or {}).get("command") for resource in resources}
    found = list(marked(commands))
    if not dry_run:
        kill(commands)
    return [f"process {pid} ({commands[mark]})" for pid, mark in found]


def kill(marks: Collection[str]) -> None:
    """Send SIGKILL to all processes with one of these marks, until none is left: one that is killed
    may just have started another. Raises DeploymentError if some do not end."""

    def gone() -> bool:
        """Kill the processes that there are; return whether there were none."""
        found = False
        for pid, _ in marked(marks):
            found = True
            _kill(pid, marks)
        return not found

    if not retry.until(gone, timeout_s=_END_TIMEOUT_S, period_s=_LOOK_S):
        pids = ", ".join(str(pid) for pid, _ in marked(marks))
        raise DeploymentError(f"processes of a service did not end: {pids}")


def marked(marks: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield process id and mark of the living processes that have one of these marks."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (mark := _mark_of(int(entry.name))) in marks:
            yield int(entry.name), mark


def _mark_of(pid: int) -> str:
    """The mark of a process. It is empty for a process without one, for one that has ended, and for
    one that this user may not read."""
    with suppress(OSError):
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(VARIABLE.encode() + b"="):
                return variable.partition(b"=")[2].decode(errors="replace")
    return ""


def _kill(pid: int, marks: Collection[str]) -> None:
    """Kill a process with one of these marks. The descriptor stands for one process, even if its id
    is used again; so the mark is read once more after the descriptor is open."""
    with suppress(OSError):
        file = os.pidfd_open(pid)
        try:
            if _mark_of(pid) in marks:
                signal.pidfd_send_signal(file, signal.SIGKILL)
        finally:
            os.close(file)
