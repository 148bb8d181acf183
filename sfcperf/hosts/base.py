"""Host: a place where commands run, which may be a namespace, this machine, or a VM that is reached
by SSH."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf import retry
from sfcperf.errors import MeasurementError

_STDERR_LINES_SHOWN = 5
_SHOWN_CHARACTERS = 120


@dataclass(frozen=True)
class CompletedCommand:
    """A command that has ended, with its exit status and outputs."""

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
        command = command_text(self.argv)
        raise MeasurementError(f"{command} ended with {self.returncode}: {complaint}")


def command_text(argv: Iterable[str]) -> str:
    """A command for a message. The end of a long one is cut off, so that the cause that follows is
    seen."""
    text = " ".join(argv)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} ..."


class Process(ABC):
    """A command that was started in the background on a host, by `Host.spawn`."""

    argv: tuple[str, ...]

    @property
    @abstractmethod
    def pid(self) -> int:
        """Process id on its host."""

    @abstractmethod
    def poll(self) -> int | None:
        """Exit status, negative for a signal; None while the process runs."""

    @abstractmethod
    def wait(self, timeout_s: float) -> int:
        """Wait for the end, and return the exit status. Raises MeasurementError after timeout_s."""

    def becomes(self, ready: Callable[[], bool], *, timeout_s: float, period_s: float) -> bool:
        """Wait until `ready` is true, the process has ended, or timeout_s is over; return whether
        it is ready."""
        retry.until(
            lambda: self.poll() is not None or ready(), timeout_s=timeout_s, period_s=period_s
        )
        return ready()  # the wait may have ended because the process did

    @abstractmethod
    def send_signal(self, number: int) -> None:
        """Send a signal. Nothing happens if the process has ended."""

    @abstractmethod
    def stop(self, grace_s: float = 2.0) -> int:
        """Send SIGTERM, and SIGKILL after grace_s; return the exit status. Harmless if the process
        has ended."""


class ConversationOver(MeasurementError):
    """The command of a conversation has ended. The last question has no answer, and no further one
    will."""


class Conversation(ABC):
    """A command that keeps running, and answers each question on its standard input with one line.

    Only one thread at a time may use it.
    """

    argv: tuple[str, ...]

    @property
    @abstractmethod
    def pid(self) -> int:
        """Process id on its host."""

    @abstractmethod
    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """Write a question and return the line of its answer, without the line's end. The question
        must already end in the form that the command knows.

        Raises ConversationOver when the command has ended, and MeasurementError after timeout_s.
        After any error the conversation is closed: a late answer would be taken for that of the
        next question.
        """

    @abstractmethod
    def close(self) -> None:
        """End the command's standard input and wait until it has ended; kill it if it does not.
        Harmless if it has ended."""


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
        """Run a command to its end.

        Raises MeasurementError when it cannot start, when timeout_s is over, and, with `check`,
        when the exit status is not 0 (the message has the last lines of stderr).
        """
        completed = self.run_unchecked(argv, timeout_s, stdin)
        return completed.checked() if check else completed

    @abstractmethod
    def run_unchecked(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        """Run a command as `run` does without `check`. Hosts implement this method; callers use
        `run`."""

    @abstractmethod
    def spawn(
        self, argv: Sequence[str], *, stdout: Path | None = None, stderr: Path | None = None
    ) -> Process:
        """Start a command in the background. Its outputs go to files of the machine that runs
        sfcperf; None: an output is discarded."""

    @abstractmethod
    def converse(self, argv: Sequence[str]) -> Conversation:
        """Start a command that answers questions. It ends when its standard input does, and so at
        the latest when sfcperf ends. Its standard error is discarded."""

    @abstractmethod
    def read_text(self, path: str) -> str:
        """Read a small text file as the host sees it: `/proc/net/dev` is that of the host's own
        network namespace. No process is started where the host allows that."""

    @abstractmethod
    def put(self, local: Path, remote: Path) -> None:
        """Copy a file of this machine to the host."""

    @abstractmethod
    def get(self, remote: Path, local: Path) -> None:
        """Copy a file of the host to this machine."""

    @abstractmethod
    def program(self, local: Path) -> str:
        """Return the name (argv[0]) under which a program file of this machine can be called on the
        host.

        A host with files of its own gets a copy of the program at the first call. The program
        should be static, since its shared libraries are not copied.
        """
