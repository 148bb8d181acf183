"""SshHost: a machine that is reached by SSH, as small as busybox and dropbear."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf import retry
from sfcperf.errors import DeploymentError, InputError, MeasurementError, system_errors_as
from sfcperf.hosts.base import CompletedCommand, Conversation, Host, Process
from sfcperf.hosts.process import open_output
from sfcperf.hosts.ssh.access import LoginRefused, SshAccess, Unreachable
from sfcperf.hosts.ssh.conversation import SshConversation
from sfcperf.hosts.ssh.loop import call
from sfcperf.hosts.ssh.process import SshProcess

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection

    from sfcperf.hosts.ssh.forward import Forward
    from sfcperf.hosts.ssh.link import Link
    from sfcperf.hosts.ssh.pool import Pool
    from sfcperf.hosts.ssh.session import Output, Session

_READ_TIMEOUT_S = 10.0
_START_TIMEOUT_S = 60.0
_COPY_TIMEOUT_S = 30.0
_SLOWEST_BYTES_PER_S = 100_000
_RETRY_S = 0.3
_KNOCK_TIMEOUT_S = 1.0
_LOGIN_TIMEOUT_S = 30.0

# Writes standard input to a file, which is there whole or not at all. So also a program that runs
# can be replaced. $1: path, $2: mode.
_PUT = (
    'mkdir -p -- "${1%/*}/" && cat >"$1.part.$$" && chmod "$2" "$1.part.$$" '
    '&& mv -f -- "$1.part.$$" "$1"'
)
_HAS = 'test -x "$1"'


class SshHost(Host):
    """A Host that is reached by SSH. Commands run there as root, by `sudo -n` where the login is
    another user's.

    The host needs an SSH server (neither sftp nor Python), a POSIX `/bin/sh`, `cat` and the like.
    Whatever was started ends when the connection is closed or lost. The first use connects, and a
    connection that broke is made again. Many threads may use one object.
    """

    def __init__(
        self, name: str, access: SshAccess, workdir: Path, jump: SshHost | None = None
    ) -> None:
        """`jump` is the host through which this one is reached."""
        if not workdir.is_absolute():
            raise InputError("the folder on a host by SSH is an absolute path", where=str(workdir))
        self.name = name
        self.access = access
        self.workdir = workdir
        self.jump = jump
        self._lock = threading.Lock()
        self._programs_lock = threading.Lock()
        self._programs: dict[Path, str] = {}
        """Program file of this machine -> path of its copy on the host."""
        self._known_pool: Pool | None = None
        """The connections, see `_pool`; None before the first use, and after `close`."""

    def wait_reachable(self, timeout_s: float, *, boots: bool = True) -> None:
        """Return when commands can be run.

        Raises DeploymentError when that is not so within timeout_s, and at once when the host shows
        a key that is not pinned. `boots`: the machine may just be booting, and so may accept our
        key later; if not, a refused login raises DeploymentError at once. Raises InputError when
        our private key cannot be read.
        """

        def log_in() -> None:
            # See `knock`: a short attempt first finds out soon that the machine has booted.
            call(self._pool.answers(_KNOCK_TIMEOUT_S))
            call(self._pool.connect(_LOGIN_TIMEOUT_S))

        def for_good(error: BaseException) -> bool:
            return isinstance(error, LoginRefused) and not boots

        try:
            retry.call(
                log_in,
                lambda error: isinstance(error, Unreachable) and not for_good(error),
                timeout_s=timeout_s,
                first_s=_RETRY_S,
                longest_s=_RETRY_S,
            )
        except Unreachable as error:
            when = "" if for_good(error) else f" after {timeout_s:g} s"
            raise error.as_kind(DeploymentError, f"{self.name} cannot be used{when}") from error

    def close(self) -> None:
        """End what runs there, and close the connections. The host can be used again afterwards."""
        with self._lock:
            pool, self._known_pool = self._known_pool, None
        if pool is not None:
            call(pool.close())

    async def tunnel(self) -> SSHClientConnection:
        """A connection through which other hosts are reached; it belongs to the event loop."""
        return (await self._pool.connect(_LOGIN_TIMEOUT_S)).connection

    def run_unchecked(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        """Run the command and wait for its end, whatever its exit code is. Raises MeasurementError
        after timeout_s, and when the connection is lost."""
        return call(self._run(argv, timeout_s, stdin))

    def spawn(
        self, argv: Sequence[str], *, stdout: Path | None = None, stderr: Path | None = None
    ) -> Process:
        """Start the command, and write its outputs to files of this machine as they come."""
        from sfcperf.hosts.ssh.session import Output

        outputs: list[Output | None] = []
        try:
            for target in (stdout, stderr):
                file = None if target is None else open_output(target, argv[0])
                outputs.append(None if file is None else Output(file))
            return call(self._spawn(argv, *outputs))
        except BaseException:
            for output in outputs:
                if output is not None:
                    output.close()
            raise

    def converse(self, argv: Sequence[str]) -> Conversation:
        """Start the command, with its stdin and stdout connected to the conversation."""
        return call(self._converse(argv))

    def read_text(self, path: str) -> str:
        """Read the file in one round trip to a shell on the host that waits for names of files."""
        if "\n" in path:
            raise MeasurementError(f"cannot be read on {self.name}: a line break", where=path)
        try:
            data, status = call(self._pool.read(path, _READ_TIMEOUT_S))
        except TimeoutError as error:
            raise MeasurementError(
                f"cannot be read on {self.name}: no end after {_READ_TIMEOUT_S:g} s", where=path
            ) from error
        if status != 0:
            raise MeasurementError(f"cannot be read on {self.name}: {_reason(data)}", where=path)
        return data.decode(errors="replace")

    def put(self, local: Path, remote: Path) -> None:
        """Copy a file with its mode. The folder of the copy is made if it is not there."""
        with system_errors_as(MeasurementError, f"cannot be copied to {remote}", where=local):
            data = local.read_bytes()
            mode = local.stat().st_mode & 0o777
        argv = ["sh", "-c", _PUT, "sh", str(remote), f"{mode:o}"]
        timeout_s = _COPY_TIMEOUT_S + len(data) / _SLOWEST_BYTES_PER_S
        done = self.run(argv, timeout_s=timeout_s, stdin=data, check=False)
        if done.returncode != 0:
            raise MeasurementError(
                f"cannot be copied to {remote} on {self.name}: {_reason(done.stderr)}",
                where=str(local),
            )

    def get(self, remote: Path, local: Path) -> None:
        """Copy a file. The folder of the copy is made if it is not there. The copy is there whole
        or not at all."""
        part = local.with_name(f"{local.name}.part.{os.getpid()}.{threading.get_ident()}")
        complaint = part.with_name(f"{part.name}.err")
        message = f"cannot be copied to {local}"
        try:
            with system_errors_as(MeasurementError, message, where=remote):
                local.parent.mkdir(parents=True, exist_ok=True)
                copying = self.spawn(["cat", "--", str(remote)], stdout=part, stderr=complaint)
                if self._wait_for_copy(copying, part) != 0:
                    reason = _reason(complaint.read_bytes())
                    raise MeasurementError(f"{message}: {reason}", where=str(remote))
                part.replace(local)
        finally:
            part.unlink(missing_ok=True)
            complaint.unlink(missing_ok=True)

    def forward(self, port: int, socket: Path) -> Forward:
        """Make a Unix socket of this machine that leads to a TCP port of the host's loopback
        interface. Raises MeasurementError when the socket cannot be made."""
        return call(self._forward(port, socket))

    def program(self, local: Path) -> str:
        """Copy the file to the host unless the same content is there, and return its path there."""
        with self._programs_lock:
            if local not in self._programs:
                digest = hashlib.sha256(local.read_bytes()).hexdigest()[:16]
                remote = self.workdir / "programs" / digest / local.name
                argv = ["sh", "-c", _HAS, "sh", str(remote)]
                if self.run(argv, timeout_s=_COPY_TIMEOUT_S, check=False).returncode != 0:
                    self.put(local, remote)
                self._programs[local] = str(remote)
            return self._programs[local]

    @property
    def _pool(self) -> Pool:
        """The connections to the host. The first use makes the pool, which is still empty."""
        with self._lock:
            if self._known_pool is None:
                from sfcperf.hosts.ssh.pool import Pool

                jump = None if self.jump is None else self.jump._pool
                self._known_pool = Pool(self.name, self.access, self.workdir, jump)
            return self._known_pool

    async def _run(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None
    ) -> CompletedCommand:
        """Run a command to its end. If time is over or the wait is cancelled, the command is killed
        on the host."""
        from sfcperf.hosts.ssh.session import Output

        out, err = Output(), Output()
        session: Session | None = None
        try:
            async with asyncio.timeout(timeout_s):
                link, session = await self._pool.start(
                    argv, stdin=stdin is not None, stdout=out, stderr=err
                )
                if stdin is not None:
                    session.feed(stdin)
                status = await asyncio.shield(session.ended)
        except TimeoutError as error:
            raise MeasurementError(f"{argv[0]} was stopped after {timeout_s:g} s") from error
        finally:
            if session is not None and not session.ended.done():
                await link.end(session)
                session.abandon()
        if session.lost:
            raise MeasurementError(
                f"the connection to {self.name} was lost while {argv[0]} ran; it was stopped there"
            )
        return CompletedCommand(tuple(argv), status, bytes(out.data), bytes(err.data))

    async def _spawn(
        self, argv: Sequence[str], stdout: Output | None, stderr: Output | None
    ) -> Process:
        """Start a command in the background, see `spawn`."""
        link, session = await self._begin(argv, stdout, stderr)
        return SshProcess(argv, link, session)

    async def _converse(self, argv: Sequence[str]) -> Conversation:
        """Start a command with which we converse, see `converse`."""
        from sfcperf.hosts.ssh.session import Lines

        answers = Lines()
        link, session = await self._begin(argv, answers, None, stdin=True)
        return SshConversation(argv, link, session, answers)

    async def _forward(self, port: int, socket: Path) -> Forward:
        """Make a socket that leads to a port, see `forward`."""
        from sfcperf.hosts.ssh.forward import Forward, forward

        connection = await self.tunnel()
        return Forward(connection, port, await forward(connection, port, socket))

    async def _begin(
        self,
        argv: Sequence[str],
        stdout: Output | None,
        stderr: Output | None,
        *,
        stdin: bool = False,
    ) -> tuple[Link, Session]:
        """Start a command in the background. None: an output is discarded. Raises
        MeasurementError."""
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                return await self._pool.start(
                    argv, stdin=stdin, spawned=True, stdout=stdout, stderr=stderr
                )
        except TimeoutError as error:
            raise MeasurementError(
                f"{argv[0]} on {self.name} did not start within {_START_TIMEOUT_S:g} s"
            ) from error

    def _wait_for_copy(self, copying: Process, part: Path) -> int:
        """Wait for the end of a copy, and return its exit status. There is no limit as long as
        bytes arrive. Raises MeasurementError when none comes for _COPY_TIMEOUT_S."""
        try:
            seen = -1
            while (size := part.stat().st_size) != seen:
                seen = size
                try:
                    return copying.wait(_COPY_TIMEOUT_S)
                except MeasurementError:
                    continue
            raise MeasurementError(f"nothing came from {self.name} for {_COPY_TIMEOUT_S:g} s")
        finally:
            copying.stop()


def _reason(output: bytes) -> str:
    """A tool's last complaint, without its own name and that of the file."""
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1].rsplit(": ", 1)[-1] if lines else "it said nothing"
