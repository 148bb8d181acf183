"""Processes of this machine, in a network namespace and in cgroups from their first moment."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sfcperf.environment.tools import search_path
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Completed, Process
from sfcperf.hosts.undivided import undivided

STDERR_LINES_SHOWN = 5


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
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise MeasurementError(f"{self.argv[0]} still runs after {timeout_s:g} s") from error

    def send_signal(self, number: int) -> None:
        """Send a signal; Popen sends none to a process that has ended."""
        self._popen.send_signal(number)

    def stop(self, grace_s: float = 2.0) -> int:
        """SIGTERM, SIGKILL after grace_s."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)
            try:
                return self._popen.wait(grace_s)
            except subprocess.TimeoutExpired:
                self._popen.kill()
        return self._popen.wait()


def start(
    argv: Sequence[str],
    *,
    namespace: Path | None = None,
    cgroups: Sequence[Path] = (),
    stdin: int = subprocess.DEVNULL,
    stdout: Path | int = subprocess.DEVNULL,
    stderr: Path | int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a command. Raises MeasurementError when it cannot be started.

    `cgroups` are `cgroup.procs` files: the command is in them before it executes, so that neither
    its memory nor its threads' CPU affinity ever live outside. `stdin` is DEVNULL or PIPE.
    """
    with undivided(), ExitStack() as opened:
        out, err = (_output(target, argv[0], opened) for target in (stdout, stderr))
        try:
            if cgroups:
                _check_executable(argv[0])
            with inside(namespace):
                popen = subprocess.Popen(
                    [*_gate(stdin), *argv] if cgroups else list(argv),
                    stdin=subprocess.PIPE if cgroups else stdin,
                    stdout=out,
                    stderr=err,
                    # What tools print is read by us: never translated.
                    env={**os.environ, "PATH": search_path(), "LC_ALL": "C"},
                    # A group of its own, so that Ctrl-C in a terminal reaches only sfcperf, which
                    # then ends its tools in order.
                    start_new_session=True,
                )
        except OSError as error:
            raise MeasurementError(
                f"{argv[0]} cannot be started: {error.strerror}",
                hint="`sfcperf doctor` says what is missing",
            ) from error
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
) -> Completed:
    """Run a command to its end; errors as in `Host.run`."""
    with ExitStack() as step:
        step.enter_context(undivided())
        popen = start(
            argv,
            namespace=namespace,
            cgroups=cgroups,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with popen:
            try:
                step.close()
                out, err = popen.communicate(stdin, timeout=timeout_s)
            except subprocess.TimeoutExpired as error:
                raise MeasurementError(f"{argv[0]} was ended after {timeout_s:g} s") from error
            finally:
                if popen.returncode is None:
                    # Also when a signal interrupts the wait: nothing of ours is left running. It
                    # may have interrupted it just when the end was seen, and not yet noted.
                    with suppress(ProcessLookupError):
                        os.killpg(popen.pid, signal.SIGKILL)
    completed = Completed(tuple(argv), popen.returncode, out, err)
    if check:
        check_success(completed)
    return completed


def check_success(completed: Completed) -> None:
    """Raises MeasurementError with the last lines of stderr when the exit status is not 0."""
    if completed.returncode != 0:
        last = completed.stderr.decode(errors="replace").strip().splitlines()[-STDERR_LINES_SHOWN:]
        said = "; ".join(last) or "it said nothing on stderr"
        command = " ".join(completed.argv)
        raise MeasurementError(f"{command} ended with {completed.returncode}: {said}")


@contextmanager
def inside(namespace: Path | None) -> Iterator[None]:
    """This thread, and what it starts, in a network namespace; other threads stay outside."""
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
            # Also when the way in was interrupted: to be at home already does no harm.
            setns(home)
            os.close(target)
    finally:
        os.close(home)


def _output(target: Path | int, command: str, opened: ExitStack) -> int:
    """A file descriptor that is closed with `opened`, or the constant of subprocess as it is."""
    if isinstance(target, int):
        return target
    file = open_output(target, command)
    opened.callback(os.close, file)
    return file


def open_output(target: Path, command: str) -> int:
    """File descriptor of a file that a command's output is appended to."""
    try:
        return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise MeasurementError(
            f"the output of {command} cannot be written: {error.strerror}", where=str(target)
        ) from error


# A control group is joined before the command executes. Python code between fork and exec
# (preexec_fn) can deadlock when other threads run; so a shell becomes the command once it has been
# moved. It waits for a line on its standard input, and ends by itself when we end first. Its text
# never changes: the command comes as positional parameters.
_TURN_TIMEOUT_MS = 1000
_GATE = 'read -r line && exec "$@"'


def _gate(stdin: int) -> list[str]:
    script = _GATE if stdin == subprocess.PIPE else f"{_GATE} </dev/null"
    return ["/bin/sh", "-c", script, "sh"]


def _check_executable(command: str) -> None:
    """Raises OSError as exec would: the shell's own words would be lost in the command's output."""
    if shutil.which(command, path=search_path()) is None:
        number = errno.EACCES if Path(command).exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), command)


def _let_in(
    popen: subprocess.Popen[bytes], command: str, cgroups: Sequence[Path], stdin: int
) -> None:
    """Move the waiting shell into its control groups and let it execute the command."""
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
    if stdin != subprocess.PIPE:
        _await_turn(gate.fileno())
        gate.close()
        popen.stdin = None


def _await_turn(gate: int) -> None:
    """Return when the shell has turned away from the gate, to execute the command: who measures
    next should not find the shell."""
    poll = select.poll()
    poll.register(gate, 0)  # nothing is asked for: what comes is POLLERR, as the last reader goes
    poll.poll(_TURN_TIMEOUT_MS)
