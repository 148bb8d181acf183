"""Starts processes of this machine, in a network namespace and in cgroups from their first
moment."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sfcperf import waiting
from sfcperf.environment.tools import search_path
from sfcperf.environment.variables import of_tools
from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts.base import CompletedCommand, Process

_READ_BYTES = 1 << 16
MAX_OUTPUT_BYTES = 256 << 20
"""Most output of a command that `run` keeps in memory, both streams together."""


class LocalProcess(Process):
    """A child of this process."""

    def __init__(self, argv: Sequence[str], popen: subprocess.Popen[bytes]) -> None:
        self.argv = tuple(argv)
        self._popen = popen

    @property
    def pid(self) -> int:
        """Process id."""
        return self._popen.pid

    def poll(self) -> int | None:
        """Exit status, or None while it runs."""
        return self._popen.poll()

    def wait(self, timeout_s: float) -> int:
        """Wait for the end; raises MeasurementError after timeout_s."""
        if not has_ended(self._popen, timeout_s):
            raise MeasurementError(f"{self.argv[0]} still runs after {timeout_s:g} s")
        return self._popen.wait()

    def send_signal(self, number: int) -> None:
        """Send a signal; Popen sends none to a process that has ended."""
        self._popen.send_signal(number)

    def stop(self, grace_s: float = 2.0) -> int:
        """Send SIGTERM, and SIGKILL after grace_s; return the exit status."""
        self._popen.send_signal(signal.SIGTERM)
        with waiting.shielded():
            if not has_ended(self._popen, grace_s):
                self._popen.kill()
        return self._popen.wait()


def has_ended(popen: subprocess.Popen[bytes], timeout_s: float | None = None) -> bool:
    """Wait until a process of ours has ended; False when it still runs after timeout_s. None: no
    limit."""
    if popen.poll() is not None:
        return True
    file = os.pidfd_open(popen.pid)
    try:
        return bool(waiting.poll({file: select.POLLIN}, timeout_s))
    finally:
        os.close(file)


def start(
    argv: Sequence[str],
    *,
    namespace: Path | None = None,
    cgroups: Sequence[Path] = (),
    stdin: int = subprocess.DEVNULL,
    stdout: Path | int = subprocess.DEVNULL,
    stderr: Path | int = subprocess.DEVNULL,
    variables: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command. Raises MeasurementError when it cannot be started.

    `cgroups` are `cgroup.procs` files. The command is in these groups before it executes, so that
    its memory and its threads' CPU affinity never count outside. `stdin` is DEVNULL or PIPE.
    `variables` are added to its environment.
    """
    # The gate is a pipe at standard input: a command without input gets /dev/null in its place.
    script = _GATE if stdin == subprocess.PIPE else f"{_GATE} </dev/null"
    gate = ["/bin/sh", "-c", script, "sh"] if cgroups else []
    with ExitStack() as opened:
        out, err = (_output(target, argv[0], opened) for target in (stdout, stderr))
        with system_errors_as(
            MeasurementError,
            f"{argv[0]} cannot be started",
            where=None,
            hint="`sfcperf doctor` says what is missing",
        ):
            if cgroups:
                _check_executable(argv[0])
            with inside(namespace):
                popen = subprocess.Popen(
                    [*gate, *argv],
                    stdin=subprocess.PIPE if cgroups else stdin,
                    stdout=out,
                    stderr=err,
                    # What tools print is read by us: never translated.
                    env={
                        **of_tools(),
                        "PATH": search_path(),
                        "LC_ALL": "C",
                        **(variables or {}),
                    },
                    # A group of its own, so that Ctrl-C in a terminal reaches only sfcperf, which
                    # then ends its tools in order.
                    start_new_session=True,
                )
        if cgroups:
            _let_in(popen, argv[0], cgroups, stdin)
    return popen


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: bytes | None = None,
    check: bool = True,
    namespace: Path | None = None,
    cgroups: Sequence[Path] = (),
) -> CompletedCommand:
    """Run a command to its end. Raises what `Host.run` raises."""
    with start(
        argv,
        namespace=namespace,
        cgroups=cgroups,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as popen:
        try:
            out, err = _communicate(popen, stdin or b"", timeout_s)
            popen.wait()
        except TimeoutError as error:
            raise MeasurementError(f"{argv[0]} was stopped after {timeout_s:g} s") from error
        except OverflowError as error:
            most = f"{MAX_OUTPUT_BYTES >> 20} MiB"
            raise MeasurementError(f"{argv[0]} was stopped: it printed more than {most}") from error
        finally:
            if popen.returncode is None:
                # Kill the whole process group: nothing of ours is left running.
                os.killpg(popen.pid, signal.SIGKILL)
    completed = CompletedCommand(tuple(argv), popen.returncode, out, err)
    return completed.checked() if check else completed


def _communicate(
    popen: subprocess.Popen[bytes], stdin: bytes, timeout_s: float
) -> tuple[bytes, bytes]:
    """Exchange the process's input and outputs as Popen.communicate does; a signal can cancel the
    wait. Raises TimeoutError, and OverflowError for more output than there may be."""
    deadline = time.monotonic() + timeout_s
    assert popen.stdout is not None and popen.stderr is not None
    out, err = bytearray(), bytearray()
    received = {popen.stdout.fileno(): out, popen.stderr.fileno(): err}
    events = dict.fromkeys(received, select.POLLIN)
    unsent = memoryview(stdin)
    if popen.stdin is not None:
        events[popen.stdin.fileno()] = select.POLLOUT
    while events:
        left_s = deadline - time.monotonic()
        ready = waiting.poll(events, left_s) if left_s > 0 else set()
        if not ready:
            raise TimeoutError
        for file in ready & received.keys():
            data = os.read(file, _READ_BYTES)
            received[file].extend(data)
            if len(out) + len(err) > MAX_OUTPUT_BYTES:
                raise OverflowError
            if not data:
                del events[file]
        if popen.stdin is not None and popen.stdin.fileno() in ready:
            # A pipe that is ready takes PIPE_BUF bytes at once; more could block.
            try:
                unsent = unsent[os.write(popen.stdin.fileno(), unsent[: select.PIPE_BUF]) :]
            except BrokenPipeError:  # nobody reads it
                unsent = unsent[:0]
            if not unsent:
                del events[popen.stdin.fileno()]
                popen.stdin.close()
                popen.stdin = None
    if not has_ended(popen, deadline - time.monotonic()):
        raise TimeoutError
    return bytes(out), bytes(err)


@contextmanager
def inside(namespace: Path | None) -> Iterator[None]:
    """Move this thread into a network namespace while the block lasts. Processes that it starts
    there stay there; other threads are not moved. None: nothing is done."""
    if namespace is None:
        yield
        return
    from pyroute2.netns import setns

    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        target = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            setns(target)
            yield
        finally:
            setns(home)
            os.close(target)
    finally:
        os.close(home)


def _output(target: Path | int, command: str, opened: ExitStack) -> int:
    """Return the descriptor for an output of `command`, which is named if there is an error. A file
    is opened, and closed with `opened`; a constant of subprocess (PIPE, DEVNULL) is returned as it
    is. Raises MeasurementError."""
    if isinstance(target, int):
        return target
    file = open_output(target, command)
    opened.callback(os.close, file)
    return file


def open_output(target: Path, command: str) -> int:
    """Open a file to which a command's output is appended; return its descriptor. Raises
    MeasurementError."""
    message = f"the output of {command} cannot be written"
    with system_errors_as(MeasurementError, message, where=target):
        return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


# A command must be in its control group before it executes. Python code between fork and exec
# (preexec_fn) can deadlock when other threads run. So we start a shell that waits for a line on its
# standard input, move it into the group, and send the line: the shell then becomes the command. It
# ends by itself when we end first. The script is always the same; the command is in its arguments.
_TURN_TIMEOUT_MS = 1000
_GATE = 'read -r line && exec "$@"'


def _check_executable(command: str) -> None:
    """Raise OSError as exec would. Otherwise the shell would write its own error into the command's
    output."""
    if shutil.which(command, path=search_path()) is None:
        number = errno.EACCES if Path(command).exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), command)


def _let_in(
    popen: subprocess.Popen[bytes], command: str, cgroups: Sequence[Path], stdin: int
) -> None:
    """Move the waiting shell into its control groups and let it execute the command. `stdin` is as
    in `start`. Raises MeasurementError if the shell cannot enter a group."""
    gate = popen.stdin
    if gate is None:
        raise AssertionError("the gate is a pipe")
    try:
        for procs in cgroups:
            procs.write_text(str(popen.pid))
        gate.write(b"\n")
        gate.flush()
    except BaseException as error:
        popen.kill()
        popen.communicate()
        if not isinstance(error, OSError):
            raise
        raise MeasurementError(
            f"{command} cannot enter its control group: {error.strerror}",
            where=None if error.filename is None else str(error.filename),
        ) from error
    # With PIPE, the gate stays open: from now on it is the command's standard input.
    if stdin != subprocess.PIPE:
        _await_turn(gate.fileno())
        gate.close()
        popen.stdin = None


def _await_turn(gate: int) -> None:
    """Wait until the shell has closed its end of the gate, as it does to execute the command.
    Otherwise a reader of /proc might still find the shell."""
    poll = select.poll()
    poll.register(gate, 0)  # POLLERR always comes unasked: here, when the last reader is gone
    poll.poll(_TURN_TIMEOUT_MS)
