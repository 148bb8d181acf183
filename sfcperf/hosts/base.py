"""Host: a place where commands run: a namespace, this machine, a VM by SSH."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf import retry
from sfcperf.errors import MeasurementError

_STDERR_LINES_SHOWN = 5


@dataclass(frozen=True)
class CompletedCommand:
    """A command that ended."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")

    def checked(self) -> CompletedCommand:
        """This result, if the command succeeded. Raises MeasurementError with the last lines of
        stderr when the exit status is not 0."""
        if self.returncode == 0:
            return self
        last = self.stderr.decode(errors="replace").strip().splitlines()[-_STDERR_LINES_SHOWN:]
        complaint = "; ".join(last) or "it said nothing on stderr"
        raise MeasurementError(f"{' '.join(self.argv)} ended with {self.returncode}: {complaint}")


class Process(ABC):
    """A command that runs in the background on a host."""

    argv: tuple[str, ...]

    @property
    @abstractmethod
    def pid(self) -> int:
        """Process id on its host."""

    @abstractmethod
    def poll(self) -> int | None:
        """Exit status, or None while it runs; negative for a signal."""

    @abstractmethod
    def wait(self, timeout_s: float) -> int:
        """Wait for the end and give the exit status; raises MeasurementError after timeout_s."""

    def becomes(self, ready: Callable[[], bool], *, timeout_s: float, period_s: float) -> bool:
        """Wait until it is ready, it has ended, or timeout_s is over; gives whether it is ready."""
        retry.until(
            lambda: self.poll() is not None or ready(), timeout_s=timeout_s, period_s=period_s
        )
        return ready()

    @abstractmethod
    def send_signal(self, number: int) -> None:
        """Send a signal; harmless when it has ended."""

    @abstractmethod
    def stop(self, grace_s: float = 2.0) -> int:
        """SIGTERM, SIGKILL after grace_s; gives the exit status. Harmless when it has ended."""


class ConversationOver(MeasurementError):
    """The command has ended: the last question has no answer, and there is no further one."""


class Conversation(ABC):
    """A command that keeps running, and answers each question on its standard input with one line.

    It is for one thread at a time."""

    argv: tuple[str, ...]

    @property
    @abstractmethod
    def pid(self) -> int:
        """Process id on its host."""

    @abstractmethod
    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """Write a question, in whatever form the command knows its end; gives the line of the
        answer, without its end.

        Raises ConversationOver when the command has ended, and MeasurementError after timeout_s.
        After any error the conversation is closed: a late answer would be taken for the next one.
        """

    @abstractmethod
    def close(self) -> None:
        """End its standard input, and wait until it has ended; SIGKILL when it does not. Harmless
        when it has."""


class Host(ABC):
    """A place where commands run and files lie: this machine, a namespace, a VM.

    Arguments are lists and never pass through a shell. A command that hangs is killed when its
    time is over; every process ends at the latest when the deployment is torn down.
    """

    name: str
    workdir: Path
    """A folder on the host for files of this deployment; removed with it."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        stdin: bytes | None = None,
        check: bool = True,
    ) -> CompletedCommand:
        """Run to the end.

        Raises MeasurementError when it cannot start, when timeout_s is over, and, with `check`,
        when the exit status is not 0 (the message carries the last lines of stderr).
        """
        completed = self.run_unchecked(argv, timeout_s, stdin)
        return completed.checked() if check else completed

    @abstractmethod
    def run_unchecked(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        """What `run` does without `check`: a host implements this, and others call `run`."""

    @abstractmethod
    def spawn(
        self, argv: Sequence[str], *, stdout: Path | None = None, stderr: Path | None = None
    ) -> Process:
        """Start in the background; outputs go to files of the machine that runs sfcperf
        (absent: discarded)."""

    @abstractmethod
    def converse(self, argv: Sequence[str]) -> Conversation:
        """Start a command that answers questions; it ends as its standard input does, so at the
        latest with sfcperf. What it writes to its standard error is discarded."""

    @abstractmethod
    def read_text(self, path: str) -> str:
        """A small text file as the host sees it, e.g. `/proc/net/dev` (the host's own network
        namespace) - without starting a process where the host allows."""

    @abstractmethod
    def put(self, local: Path, remote: Path) -> None:
        """Copy a file of this machine to the host."""

    @abstractmethod
    def get(self, remote: Path, local: Path) -> None:
        """Copy a file of the host to this machine."""

    @abstractmethod
    def program(self, local: Path) -> str:
        """The name (argv[0]) under which a program file of this machine can be called on the host.

        Where the host has files of its own, the program is copied there at the first call. It
        should be static: its shared libraries are not looked for.
        """
