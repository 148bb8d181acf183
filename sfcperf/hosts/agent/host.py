"""AgentHost: a namespace of another machine, in which the machine's agent runs commands."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfcperf import waiting
from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts.agent.caller import Caller
from sfcperf.hosts.agent.files import (
    append,
    begin_file,
    drop_file,
    finish_file,
    has_file,
    read_part,
)
from sfcperf.hosts.agent.output import SpawnedProcess
from sfcperf.hosts.base import CompletedCommand, Conversation, ConversationOver, Host, Process
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.process import open_output

_PROGRAMS = Path("/var/lib/sfcperf/programs")
"""Folder, on a machine, for copies of compiled programs."""
_PART_BYTES = 1 << 20
_KILLED_TIMEOUT_S = 10.0


class ConnectionLost(MeasurementError):
    """An agent is gone; it removes what was built on its machine."""


class AgentHost(Host):
    """A NamespaceHost of another machine. Whatever was started ends with the agent."""

    def __init__(self, name: str, workdir: Path, agent: Caller, there: NamespaceHost) -> None:
        """`there`: stands for the NamespaceHost that the agent keeps."""
        self.name, self.workdir = name, workdir
        self._agent, self._there = agent, there

    def run_unchecked(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        """Run the command there, and wait for its end."""
        return self._there.run_unchecked(tuple(argv), timeout_s, stdin)

    def spawn(
        self, argv: Sequence[str], *, stdout: Path | None = None, stderr: Path | None = None
    ) -> Process:
        """Start the command there, and write its outputs to files of this machine as they come."""
        files: dict[str, int] = {}
        try:
            for name, path in (("out", stdout), ("err", stderr)):
                if path is not None:
                    files[name] = open_output(path, argv[0])
            spawned = self._agent.call(
                SpawnedProcess, self._there, tuple(argv), "out" in files, "err" in files
            )
            return _AgentProcess(argv, self._agent, spawned, files)
        except BaseException:
            for file in files.values():
                os.close(file)
            raise

    def converse(self, argv: Sequence[str]) -> Conversation:
        """Start the command there."""
        return _AgentConversation(argv, self._there.converse(tuple(argv)))

    def read_text(self, path: str) -> str:
        """Read a file as the namespace sees it."""
        return self._there.read_text(path)

    def put(self, local: Path, remote: Path) -> None:
        """Copy a file with its mode. The folder of the copy is made if it is not there."""
        call = self._agent.call
        with (
            system_errors_as(MeasurementError, f"cannot be copied to {remote}", where=local),
            local.open("rb") as file,
        ):
            part = call(begin_file, remote)
            try:
                # A message that takes long holds up all others, the signs of life as well.
                while data := file.read(_PART_BYTES):
                    call(append, part, data)
                call(finish_file, part, remote, local.stat().st_mode & 0o777)
            except BaseException:
                with suppress(MeasurementError):
                    call(drop_file, part)
                raise

    def get(self, remote: Path, local: Path) -> None:
        """Copy a file. The folder of the copy is made if it is not there. The copy is there whole
        or not at all."""
        part = local.with_name(f"{local.name}.part.{os.getpid()}")
        with system_errors_as(MeasurementError, f"cannot be copied to {local}", where=remote):
            local.parent.mkdir(parents=True, exist_ok=True)
            try:
                with part.open("wb") as file:
                    while data := self._agent.call(read_part, remote, file.tell(), _PART_BYTES):
                        file.write(data)
                part.replace(local)
            finally:
                part.unlink(missing_ok=True)

    def program(self, local: Path) -> str:
        """Copy the file to the machine unless the same content is there, and return its path."""
        digest = hashlib.sha256(local.read_bytes()).hexdigest()[:16]
        remote = _PROGRAMS / digest / local.name
        if not self._agent.call(has_file, remote):
            self.put(local, remote)
        return str(remote)


class _AgentProcess(Process):
    """A command in the background of an agent's machine. If the connection is lost, its status is
    that of SIGKILL, and its standard error says why."""

    def __init__(
        self, argv: Sequence[str], agent: Caller, spawned: SpawnedProcess, files: dict[str, int]
    ) -> None:
        """`files`: descriptors for the outputs `out` and `err`; the process closes them."""
        self.argv = tuple(argv)
        self._agent, self._spawned = agent, spawned
        self._pid = spawned.pid
        self._files = files
        self._fault: OSError | None = None
        """Why an output could not be written."""
        self._status = -int(signal.SIGKILL)
        self._over = waiting.Event()
        self._complete = False
        """Whether nothing more comes of its outputs."""
        stream = agent.stream(spawned, self._note)
        # execnet tells no end of a channel that nobody refers to.
        self._stream = None if self._complete else stream

    @property
    def pid(self) -> int:
        """Process id on its machine."""
        return self._pid

    def poll(self) -> int | None:
        """Exit status, or None while it runs; takes no round trip."""
        return self._ended() if self._over.is_set() else None

    def wait(self, timeout_s: float) -> int:
        """Wait for the end; raises MeasurementError after timeout_s."""
        if not self._over.wait(timeout_s):
            raise MeasurementError(f"{self.argv[0]} still runs after {timeout_s:g} s")
        return self._ended()

    def send_signal(self, number: int) -> None:
        """Send a signal. With a lost connection the process ends anyway."""
        if not self._over.is_set():
            with suppress(MeasurementError):
                self._spawned.send_signal(int(number))

    def stop(self, grace_s: float = 2.0) -> int:
        """Send SIGTERM, and SIGKILL after grace_s; return the exit status."""
        with waiting.shielded():
            self.send_signal(signal.SIGTERM)
            if not self._over.wait(grace_s):
                self.send_signal(signal.SIGKILL)
            return self.wait(_KILLED_TIMEOUT_S)

    def _ended(self) -> int:
        """Return the exit status. Raises MeasurementError if an output could not be written."""
        if self._fault is not None:
            raise MeasurementError(
                f"the output of {self.argv[0]} cannot be written: {self._fault.strerror}"
            )
        return self._status

    def _note(self, news: Any) -> None:
        """Take what serving.stream sends; None: nothing more comes."""
        if news is None:
            if not self._over.is_set():
                self._write("err", f"sfcperf: the connection to {self._agent.name} was lost\n")
                self._over.set()
            for file in self._files.values():
                os.close(file)
            self._complete, self._stream = True, None
            return
        kind, value = news
        if kind == "end":
            self._status = value
            self._over.set()
        else:
            self._write(kind, value)

    def _write(self, name: str, data: bytes | str) -> None:
        left = memoryview(data.encode() if isinstance(data, str) else data)
        try:
            while left and name in self._files:
                left = left[os.write(self._files[name], left) :]
        except OSError as error:
            self._fault = error


class _AgentConversation(Conversation):
    """A conversation with a command on an agent's machine; it is over when the connection is
    lost."""

    def __init__(self, argv: Sequence[str], there: Conversation) -> None:
        """`there`: stands for the conversation that the agent has with the command."""
        self.argv = tuple(argv)
        self._there = there

    @property
    def pid(self) -> int:
        """Process id on its machine."""
        return self._there.pid

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """Have the agent ask. Raises ConversationOver, and MeasurementError after timeout_s."""
        try:
            return self._there.ask(question, timeout_s)
        except ConnectionLost as lost:
            raise ConversationOver(f"{self.argv[0]} has ended: {lost.message}") from lost
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the command's standard input, and kill the command if it does not end."""
        with waiting.shielded(), suppress(MeasurementError):
            self._there.close()
