"""A host that behaves like another machine: every step is a round trip, and this machine's files
are not there."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import CompletedCommand, Conversation, Host, Process
from sfcperf.hosts.namespace import NamespaceHost

T = TypeVar("T")
ROUND_TRIP_S = 0.02
ITS_OWN = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/")
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class LocalPath(AssertionError):
    """Something of this machine was looked for there."""


class RemoteProcess(Process):
    """Its end is known at once; signals travel."""

    def __init__(self, process: Process) -> None:
        self.argv = process.argv
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, timeout_s: float) -> int:
        return self._process.wait(timeout_s)

    def send_signal(self, number: int) -> None:
        time.sleep(ROUND_TRIP_S)
        self._process.send_signal(number)

    def stop(self, grace_s: float = 2.0) -> int:
        time.sleep(ROUND_TRIP_S)
        return self._process.stop(grace_s)


class RemoteConversation(Conversation):
    """A question is a round trip."""

    def __init__(self, conversation: Conversation) -> None:
        self.argv = conversation.argv
        self._conversation = conversation

    @property
    def pid(self) -> int:
        return self._conversation.pid

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        time.sleep(ROUND_TRIP_S)
        return self._conversation.ask(question, timeout_s)

    def close(self) -> None:
        time.sleep(ROUND_TRIP_S)
        self._conversation.close()


class RemoteLike(Host):
    """A namespace, seen as if it were far away. `trips` counts round trips."""

    def __init__(self, host: NamespaceHost, *, boot_id: str | None = None) -> None:
        """`boot_id`: it claims to run on a kernel of its own."""
        self.name = host.name
        self.namespace = host.namespace
        self.workdir = host.workdir / f"{host.name}-far"
        self.workdir.mkdir(parents=True, exist_ok=True)
        self.trips = 0
        self._host = host
        self._boot_id = boot_id

    def run_unchecked(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        self._look(argv)
        return self._far(lambda: self._host.run_unchecked(argv, timeout_s, stdin))

    def spawn(
        self, argv: Sequence[str], *, stdout: Path | None = None, stderr: Path | None = None
    ) -> Process:
        self._look(argv)
        for output in (stdout, stderr):
            if output is not None and output.is_relative_to(self.workdir):
                raise LocalPath(f"{output} is a file there, and outputs come here")
        process = self._far(lambda: self._host.spawn(argv, stdout=stdout, stderr=stderr))
        return RemoteProcess(process)

    def converse(self, argv: Sequence[str]) -> Conversation:
        self._look(argv)
        return RemoteConversation(self._far(lambda: self._host.converse(argv)))

    def read_text(self, path: str) -> str:
        self._look([path])
        if path == BOOT_ID and self._boot_id is not None:
            return self._boot_id
        return self._far(lambda: self._host.read_text(path))

    def put(self, local: Path, remote: Path) -> None:
        self._look([str(remote)])
        self._far(lambda: self._host.put(local, remote))

    def get(self, remote: Path, local: Path) -> None:
        self._look([str(remote)])
        self._far(lambda: self._host.get(remote, local))

    def program(self, local: Path) -> str:
        copy = self.workdir / "programs" / local.name
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(local, copy)
        return str(copy)

    def _look(self, argv: Sequence[str]) -> None:
        """Only what is its own can be named."""
        for word in argv:
            own = f"{word}/".startswith((f"{self.workdir}/", *ITS_OWN))
            if word.startswith("/") and not own and Path(word).exists():
                raise LocalPath(f"{argv[0]}: {word} is of this machine")

    def _far(self, action: Callable[[], T]) -> T:
        self.trips += 1
        if self.trips > 100_000:
            raise MeasurementError("it is asked without end")
        time.sleep(ROUND_TRIP_S)
        return action()
