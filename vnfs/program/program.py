"""A program of a function: its files, its setup commands, its process, from start to end."""

from __future__ import annotations

import itertools
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import CompletedCommand, Host, Process, command_text
from sfcperf.hosts.procfs import tcp_listening_ports, udp_ports
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.program import counters, placeholders
from sfcperf.vnfs.program.container import Container
from sfcperf.vnfs.program.knobs import has_process, own_values
from sfcperf.vnfs.program.processes import family, processes
from sfcperf.workflow.references import level_text

COMMAND_TIMEOUT_S = 30.0
SETTLE_S = 0.3
"""A program without `ready` is taken for started when it has run so long."""
_POLL_S = 0.01
_SHOWN_LINES = 5
_SHOWN_CHARACTERS = 500
_MOST_OUTPUT = 1 << 20
"""So many bytes of output are searched for the line that says that a program is ready."""
MAX_FILE_BYTES = 1 << 30
"""Largest size of each file that a command writes, also of its output: SIGXFSZ ends one that writes
more. Without a limit, a program could fill the disk that has the results."""
_IN_FOLDER = 'ulimit -f "$1" && cd "$2" && shift 2 && exec "$@"'
"""Script that runs a command in a folder, with a limit of file sizes in blocks of 512 bytes; all
three are its arguments."""
_SIGNALLED = 128
"""A runtime of containers ends with this status and the number of the signal that has ended the
program."""
_starts = itertools.count()
"""Numbers for names of files: each start has files of its own."""


class Program:
    """A program on a host. The order of calls is `prepare`, `start`, any others, `stop`."""

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        self._host = host
        self._name = attachment.name
        self._knobs = knobs
        self._texts = placeholders.texts(knobs["attach"], attachment, own_values(knobs))
        self._folder = host.workdir / f"program-{attachment.name}"
        self._outputs = [
            attachment.outputs / f"{attachment.name}-{number}.{kind}"
            for number in [next(_starts)]
            for kind in ("out", "err")
        ]
        self._process: Process | None = None
        self._container: Container | None = None
        if knobs["image"]:
            # No name of its `files` begins with a dot.
            self._container = Container(self._folder / ".container", attachment, knobs)

    @property
    def carries_packets(self) -> bool:
        """Whether packets cross only while its process works."""
        return has_process(self._knobs) and self._knobs["data_plane"] == "program"

    def prepare(self) -> None:
        """Make its folder with its files and its container, then run its setup commands. Raises
        DeploymentError when one fails, or for its image, MeasurementError for its files."""
        self._host.run(["mkdir", "-p", str(self._folder)], timeout_s=COMMAND_TIMEOUT_S)
        for name, content in self._knobs["files"].items():
            if isinstance(content, str):
                self._host.put(Path(content), self._folder / name)
            else:
                text = "".join(f"{self._filled(line)}\n" for line in content)
                argv = ["tee", str(self._folder / name)]
                self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, stdin=text.encode())
        if self._container is not None:
            command = [self._filled(word) for word in self._knobs["command"]]
            own_files = [self._folder / name for name in self._knobs["files"]]
            self._container.prepare(command, self._env, own_files)
        for number, argv in enumerate(self._knobs["setup"], 1):
            done = self._run(argv)
            if done.returncode != 0:
                raise self._failure(f"its setup command {number}, {self._ended(argv, done)}")

    def start(self) -> None:
        """Start its process, if it has one, and return when it is ready. Raises DeploymentError, or
        MeasurementError if the host is gone."""
        if not has_process(self._knobs):
            return
        stdout, stderr = self._outputs
        if self._container is None:
            argv = self._argv(self._knobs["command"])
        else:
            argv = self._in_folder(self._container.argv())
        self._process = self._host.spawn(argv, stdout=stdout, stderr=stderr)
        timeout_s = self._knobs["ready_timeout_s"] if self._knobs["ready"] else SETTLE_S
        ready = self._process.becomes(self._is_ready, timeout_s=timeout_s, period_s=_POLL_S)
        if (problem := self.problem()) is not None:
            raise self._failure(problem)
        if self._knobs["ready"] and not ready:
            raise self._failure(
                f"its program was not ready within {timeout_s:g} s: {self._awaited()}; it printed: "
                f"{self._last_lines()}",
                hint="set `ready_timeout_s`, if it needs longer",
            )

    def counters(self) -> dict[str, int]:
        """Run its `counters` command; without one there are none. Raises MeasurementError."""
        argv = self._knobs["counters"]
        if not argv:
            return {}
        done = self._run(argv, inside=True)
        if done.returncode != 0:
            raise MeasurementError(self._ended(argv, done))
        try:
            return counters.parsed(done.text)
        except MeasurementError as error:
            raise MeasurementError(f"`{self._shown(argv)}`: {error.message}") from error

    def problem(self) -> str | None:
        """Return how its process has ended; None while it runs, or if it has none."""
        status = None if self._process is None else self._process.poll()
        if status is None:
            return None
        if self._container is not None and status > _SIGNALLED:
            status = _SIGNALLED - status
        return f"its program has ended {_ending(status)}; it printed: {self._last_lines()}"

    def pids(self) -> tuple[int, ...]:
        """Return the ids of its process and of those that this has started; only its own if the
        host does not list them."""
        if self._process is None:
            return ()
        try:
            return tuple(family(processes(self._host), self._process.pid))
        except MeasurementError:
            return (self._process.pid,)

    def stop(self) -> None:
        """End its processes, run its teardown commands, and remove its folder. Harmless when the
        host is gone."""
        with suppress(MeasurementError):
            self._end()
        for argv in self._knobs["teardown"]:
            with suppress(MeasurementError):
                self._run(argv)
        with suppress(MeasurementError):
            argv = ["rm", "-rf", str(self._folder)]
            self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False)

    def facts(self) -> dict[str, Any]:
        """Return its command as it was run, and its image."""
        if self._container is not None:
            return {"command": list(self._container.command), **self._container.facts()}
        command = self._knobs["command"]
        return {"command": [self._filled(word) for word in command]} if command else {}

    def _end(self) -> None:
        """Send the stop signal, kill what has not ended in time, and then what its process has
        left behind. Raises MeasurementError."""
        if self._process is None:
            return
        try:
            before = family(processes(self._host), self._process.pid)
        finally:
            self._end_process(self._process)
        after = processes(self._host)
        # A child whose parent has ended has another parent: only the start tells that it is it.
        left = [
            pid
            for pid, each in after.items()
            if each.session == self._process.pid
            or (pid in before and before[pid].started == each.started)
        ]
        if left:
            argv = ["kill", f"-{int(signal.SIGKILL)}", *map(str, left)]
            self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False)

    def _end_process(self, process: Process) -> None:
        """End the process itself; its output says if it had to be killed."""
        number, grace_s = signal.Signals[self._knobs["stop_signal"]], self._knobs["stop_timeout_s"]
        process.send_signal(number)
        try:
            process.wait(grace_s)
        except MeasurementError:
            process.stop(0)
            with suppress(OSError), self._outputs[1].open("a") as file:
                file.write(f"sfcperf: it did not end within {grace_s:g} s of {number.name}, and ")
                file.write("was killed\n")

    def _failure(self, message: str, hint: str | None = None) -> DeploymentError:
        """Return the error that this instance did not start."""
        return DeploymentError(f"{self._name}: {message}", where=self._host.name, hint=hint)

    def _is_ready(self) -> bool:
        ready = self._knobs["ready"]
        if "command" in ready:
            return self._run(ready["command"], inside=True).returncode == 0
        if "port" in ready:
            return ready["port"] in self._open_ports()
        return "output" in ready and re.search(ready["output"], self._printed(), re.M) is not None

    def _open_ports(self) -> set[int]:
        """Return the ports of all sockets for TCP that listen, and of all for UDP."""
        found: set[int] = set()
        for version in ("", "6"):  # sockets of IPv6 may take IPv4 as well
            with suppress(MeasurementError):
                found |= tcp_listening_ports(self._host.read_text(f"/proc/net/tcp{version}"))
                found |= udp_ports(self._host.read_text(f"/proc/net/udp{version}"))
        return found

    def _awaited(self) -> str:
        """What it was not that makes it ready, in words."""
        ready = self._knobs["ready"]
        if "command" in ready:
            return f"`{self._shown(ready['command'])}` fails"
        if "port" in ready:
            return f"nothing listens at port {ready['port']}"
        return f"it printed no line like {ready['output']!r}"

    def _run(self, argv: Sequence[Any], *, inside: bool = False) -> CompletedCommand:
        """Run one of its commands to the end, `inside` its container if it has one. Raises
        MeasurementError when it takes too long."""
        if inside and self._container is not None:
            argv_inside = self._container.inside([self._filled(word) for word in argv])
            words = self._in_folder(argv_inside)
        else:
            words = self._argv(argv)
        try:
            return self._host.run(words, timeout_s=COMMAND_TIMEOUT_S, check=False)
        except MeasurementError as error:
            raise MeasurementError(f"`{self._shown(argv)}`: {error.message}") from error

    def _ended(self, argv: Sequence[Any], done: CompletedCommand) -> str:
        """Say how one of its commands has failed."""
        said = _last((done.stdout + done.stderr).decode(errors="replace"))
        return f"`{self._shown(argv)}`, ended with {done.returncode}; it printed: {said}"

    def _argv(self, argv: Sequence[Any]) -> list[str]:
        """Return the command that runs `argv` in the program's folder, with its environment."""
        command, *arguments = map(self._filled, argv)
        if command.startswith("/"):
            command = self._host.program(Path(command))
        variables = [f"{name}={text}" for name, text in self._env.items()]
        environment = ["env", *variables] if variables else []
        return self._in_folder([*environment, command, *arguments])

    def _in_folder(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs `argv` in the program's folder, with limits."""
        limit = str(MAX_FILE_BYTES // 512)
        return ["sh", "-c", _IN_FOLDER, "sh", limit, str(self._folder), *argv]

    @property
    def _env(self) -> dict[str, str]:
        """Variables of its commands' environment."""
        return {name: self._filled(text) for name, text in self._knobs["env"].items()}

    def _filled(self, word: Any) -> str:
        """Return a word of a command as text, its placeholders replaced."""
        return placeholders.filled(level_text(word), self._texts)

    def _shown(self, argv: Sequence[Any]) -> str:
        return command_text(map(self._filled, argv))

    def _printed(self) -> str:
        """Return what it has printed so far."""
        printed = b""
        for output in self._outputs:
            with suppress(FileNotFoundError), output.open("rb") as file:
                printed += file.read(_MOST_OUTPUT)
        return printed.decode(errors="replace")

    def _last_lines(self) -> str:
        return _last(self._printed())


def _last(text: str) -> str:
    """Return the last lines of an output for a message."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-_SHOWN_LINES:])[-_SHOWN_CHARACTERS:] or "nothing"


def _ending(status: int) -> str:
    """Say how a process has ended: `with status 1`, `by SIGKILL`."""
    if status == 0:
        return "with status 0, or moved to the background"
    if status > 0:
        return f"with status {status}"
    with suppress(ValueError):
        return f"by {signal.Signals(-status).name}"
    return f"by signal {-status}"
