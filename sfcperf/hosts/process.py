"""Processes of this machine, in a network namespace and in cgroups from their first moment."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Completed, Process

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

    `cgroups` are `cgroup.procs` files: the child writes itself there before it executes, so that
    neither its memory nor its threads' CPU affinity ever live outside.
    """
    files = [_open(target) for target in (stdout, stderr)]
    try:
        with inside(namespace):
            return subprocess.Popen(
                list(argv),
                stdin=stdin,
                stdout=files[0],
                stderr=files[1],
                preexec_fn=_joiner(cgroups),
                # What tools print is read by us: never translated.
                env={**os.environ, "LC_ALL": "C"},
                # A group of its own, so that Ctrl-C in a terminal reaches only sfcperf, which
                # then ends its tools in order.
                start_new_session=True,
            )
    except OSError as error:
        raise MeasurementError(
            f"{argv[0]} cannot be started: {error.strerror}",
            hint="`sfcperf doctor` says what is missing",
        ) from error
    finally:
        for file, target in zip(files, (stdout, stderr), strict=True):
            if isinstance(target, Path):
                os.close(file)


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
            out, err = popen.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise MeasurementError(f"{argv[0]} was ended after {timeout_s:g} s") from error
        finally:
            if popen.returncode is None:
                # Also when a signal interrupts the wait: nothing of ours is left running.
                os.killpg(popen.pid, signal.SIGKILL)
    completed = Completed(tuple(argv), popen.returncode, out, err)
    if check and completed.returncode != 0:
        last = err.decode(errors="replace").strip().splitlines()[-STDERR_LINES_SHOWN:]
        said = "; ".join(last) or "it said nothing on stderr"
        raise MeasurementError(f"{' '.join(argv)} ended with {completed.returncode}: {said}")
    return completed


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


def _open(target: Path | int) -> int:
    if isinstance(target, int):
        return target
    return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _joiner(cgroups: Sequence[Path]) -> Callable[[], None] | None:
    if not cgroups:
        return None
    paths = [os.fsencode(path) for path in cgroups]

    def join() -> None:
        # Between fork and exec: only plain system calls.
        for path in paths:
            file = os.open(path, os.O_WRONLY)
            os.write(file, b"0")
            os.close(file)

    return join
