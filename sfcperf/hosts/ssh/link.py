"""Link: one SSH connection to a host, with its guard. Commands are started and signalled through
it."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Importing this module takes long, because of asyncssh: import it inside functions only.
from asyncssh import ChannelOpenError, Error, SSHClientConnection

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.ssh import guest
from sfcperf.hosts.ssh.access import SshAccess, Unreachable, connect, words
from sfcperf.hosts.ssh.session import Output, Session, ShellChannel

_POSIX_SHELLS = ("sh", "ash", "dash", "bash")
_READY_TIMEOUT_S = 30.0
_GUARD_TIMEOUT_S = 10.0
_BYE_TIMEOUT_S = 8.0


class NoChannel(Exception):
    """The server opens no further channel on this connection (OpenSSH: 10 by default)."""


class ConnectionLost(Exception):
    """The connection broke before the command was seen to run. `requested`: it may have been
    sent."""

    def __init__(self, requested: bool) -> None:
        super().__init__("connection lost")
        self.requested = requested


@dataclass(frozen=True)
class Request:
    """A command to be started."""

    id: str
    """By this the host can tell whether the command has started, if no answer arrived."""
    argv: tuple[str, ...]
    stdin: bool
    """Whether the command gets standard input from us."""
    spawned: bool
    """Whether the command runs in the background."""
    stdout: Output | None
    """Receives the command's standard output. None, here and for `stderr`: it is discarded on the
    host."""
    stderr: Output | None

    def words(self) -> list[str]:
        """Arguments of the start script (guest.py)."""
        pipes = ["pipe" if wanted else "none" for wanted in (self.stdin, self.stdout, self.stderr)]
        return [self.id, "spawn" if self.spawned else "run", *pipes, *self.argv]


class Link:
    """An SSH connection that is logged in and has a guard. Pool makes it by `open`. For a command,
    it calls `take` and `start`, and for reading files `take`, `open_reader` and `give_back`. All
    methods belong to the event loop."""

    def __init__(
        self, name: str, connection: SSHClientConnection, workdir: Path, token: str
    ) -> None:
        self.name = name
        self.connection = connection
        self.life = guest.life_folder(workdir, token)
        version = str(connection.get_extra_info("server_version"))
        self._one_at_a_time = "dropbear" in version
        """Whether the connection can carry only one command at a time, see `take`."""
        self._taken = False
        """Whether that one command is running or about to start."""
        self._full = False
        """Whether the server has refused a further channel since the last command ended."""
        self._is_root = True
        """Whether the login is root's."""
        self._is_posix = False
        """Whether the login shell is a POSIX one."""
        self._token = token
        self._guard = ShellChannel(name, token)
        self._reader: ShellChannel | None = None
        """The shell that reads files; None: there is none, or it is blocked."""
        self._beating: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, name: str, access: SshAccess, workdir: Path, tunnel: SSHClientConnection | None
    ) -> Link:
        """Log in and set up the guard. Raises what `connect` raises, and DeploymentError when the
        host lacks what the guard needs."""
        connection = await connect(access, tunnel)
        link = cls(name, connection, workdir, secrets.token_hex(8))
        try:
            async with asyncio.timeout(_READY_TIMEOUT_S):
                await link._set_up_guard(workdir)
        except BaseException as error:
            connection.abort()
            if isinstance(error, (Error, OSError)):
                raise Unreachable(
                    f"{access} accepts the SSH login, but starts no command: {words(error)}"
                ) from error
            raise
        link._beating = asyncio.create_task(link._beat())
        return link

    @property
    def closed(self) -> bool:
        """Whether the connection is of no use any more."""
        return self._guard.closed or self.connection.is_closed()

    @property
    def free(self) -> bool:
        """Whether a command can be started through the connection now."""
        return not (self.closed or self._full or self._taken)

    def take(self) -> None:
        """Reserve the connection for the next command, if it carries only one at a time.

        That is so with dropbear. dropbear 2022.83 closes a channel that has just been opened when
        the command of another channel ends before the command of the new one arrives. Then it fails
        an assertion, which ends the whole connection.
        """
        self._taken = self._one_at_a_time

    def give_back(self) -> None:
        """Note that the connection has room for a command again."""
        self._taken = self._full = False

    async def start(self, request: Request) -> Session:
        """Start a command; return when it runs, or when it cannot run (`Session.started` says why).

        The connection is given back when the command ends. Raises NoChannel, and ConnectionLost
        when the connection broke.
        """
        line = self._command(request.words())
        if len(line.encode()) > guest.LONGEST_COMMAND_BYTES:
            line = self._command(None, await self._lay_down(request))
        session = await self._open_session(request, line)
        session.ended.add_done_callback(lambda _: self.give_back())
        return session

    async def signal(self, session: Session, number: int) -> None:
        """Send a signal to the command's process, not to its children. Nothing happens if it has
        ended: `began` tells it from a later process with the same pid. A lost connection is no
        error either (`_tell`). Raises MeasurementError when the guard does not answer in time."""
        try:
            await self._tell(f"signal {number} {session.pid} {session.began}")
        except TimeoutError as error:
            raise MeasurementError(
                f"{self.name} did not send a signal within {_GUARD_TIMEOUT_S:g} s"
            ) from error

    async def end(self, session: Session) -> None:
        """Kill the command and its children at once. A host that does not answer does it later."""
        with suppress(TimeoutError):
            await self._tell(f"drop {session.id}")

    async def had_started(self, through: Link, request: Request) -> bool:
        """Whether a command had been started `through` a connection: this one, or another one that
        is lost. If not, it never will be. True also when that cannot be known any more."""
        line = f"drop {request.id}" if through is self else f"fence {through.life} {request.id}"
        _, status = await asyncio.wait_for(self._guard.ask(line), _GUARD_TIMEOUT_S)
        return status != 1

    @property
    def reads(self) -> bool:
        """Whether this connection has a shell that reads files."""
        return not self.closed and self._reader is not None and not self._reader.closed

    async def open_reader(self) -> None:
        """Start the shell that reads files; reserve the connection for it with `take` first. Raises
        NoChannel and ConnectionLost."""
        reader = ShellChannel(self.name, self._token)
        line = guest.reader(self._token)
        try:
            await self.connection.create_session(lambda: reader, line, encoding=None)
        except (Error, OSError) as error:
            if isinstance(error, ChannelOpenError) and not self.closed:
                self._full = True
                raise NoChannel from error
            raise ConnectionLost(False) from error
        self._reader = reader

    async def read(self, path: str, timeout_s: float) -> tuple[bytes, int]:
        """Return a file's bytes and 0, or what `cat` says about it and its exit status. Raises
        ConnectionLost, and TimeoutError; after that there is no shell that reads any more."""
        reader = self._reader
        if reader is None:
            raise ConnectionLost(False)
        try:
            return await asyncio.wait_for(reader.ask(path), timeout_s)
        except TimeoutError:
            # What blocks the shell would block all later readings. It is given up, not ended: the
            # end of a channel can break the connection, see `take`.
            self._reader = None
            raise
        except Unreachable as error:
            raise ConnectionLost(False) from error

    async def close(self) -> None:
        """End everything that was started through the connection, then the connection."""
        if self._beating is not None:
            self._beating.cancel()
        if self._reader is not None:
            self._reader.close()
        try:
            if not self.closed:
                await asyncio.wait_for(self._guard.ask("bye"), _BYE_TIMEOUT_S)
        except (Unreachable, TimeoutError):
            pass  # the guard ends the commands anyway as the connection ends
        self.connection.close()
        self.connection.abort()

    async def _set_up_guard(self, workdir: Path) -> None:
        """Start the guard and wait until it is ready; note what it says about the login. Raises
        Unreachable, and DeploymentError when the host lacks what the guard needs."""
        guard = self._guard
        ready = guard.expect()
        line = guest.guard(workdir, self._token)
        await self.connection.create_session(lambda: guard, line, encoding=None)
        try:
            output, status = await ready
        except Unreachable as error:
            if self.connection.is_closed():
                raise Unreachable(
                    f"the connection to {self.name} was lost as it was made; it said: {error}"
                ) from error
            output, status = error.message.encode(), 1  # the shell ended, and had something to say
        text = output.decode(errors="replace").strip()
        if status != 0:
            raise DeploymentError(
                f"{self.name} cannot be used: {text}",
                hint="it needs a POSIX /bin/sh, coreutils or busybox, and for a user other than "
                "root, sudo without a password",
            )
        # Before the guard's line, the login shell may have printed something.
        uid, _, shell = text.splitlines()[-1].partition(" ")
        self._is_root, self._is_posix = uid == "0", shell in _POSIX_SHELLS

    async def _open_session(self, request: Request, line: str) -> Session:
        """Open a channel for a command, and wait until the command is seen to run or to fail."""
        session = Session(
            request.id, self.name, request.stdout or Output(), request.stderr or Output()
        )
        try:
            await self.connection.create_session(lambda: session, line, encoding=None)
            await session.started
        except asyncio.CancelledError:
            self._drop(request, session)
            raise
        except (Unreachable, Error, OSError) as error:
            if isinstance(error, ChannelOpenError) and not session.requested and not self.closed:
                self._full = True
                raise NoChannel from error
            # The server told how the command ended: the connection works, but the login or the
            # start script does not.
            if session.told is not None:
                self.give_back()
                raise MeasurementError(
                    f"{request.argv[0]} cannot be started on {self.name}: {words(error)}"
                ) from error
            raise ConnectionLost(session.requested) from error
        return session

    def _command(self, words: list[str] | None, file: str = "") -> str:
        """Command line that starts a command: with the start script's arguments, or (None) with
        those in `file`."""
        return guest.command(self.life, words, file, root=self._is_root, posix=self._is_posix)

    async def _lay_down(self, request: Request) -> str:
        """Write a command's arguments to a file on the host, which removes itself when it is read;
        return its path. For arguments that are too long for a command line."""
        file = f"{self.life}/arguments-{request.id}"
        argv = ("sh", "-c", guest.TAKE, "sh", file)
        writing = Request(f"{request.id}-arguments", argv, True, False, None, Output())
        session = await self._open_session(writing, self._command(writing.words()))
        session.feed(guest.arguments(file, request.words()))
        if await session.ended != 0:
            if session.lost:
                raise ConnectionLost(False)
            complaint = bytes(session.stderr.data).decode(errors="replace").strip()
            raise MeasurementError(
                f"{request.argv[0]} cannot be started on {self.name}: {complaint}"
            )
        return file

    async def _beat(self) -> None:
        """Send the guard a sign of life every HEARTBEAT_S, until the connection is lost."""
        while not self.closed:
            await asyncio.sleep(guest.HEARTBEAT_S)
            try:
                await self._guard.ask("beat")
            except Unreachable:
                return

    async def _tell(self, line: str) -> None:
        """Send a line to the guard. A lost connection is no error: the command ends with it as
        well."""
        with suppress(Unreachable):  # with the connection, the command ends as well
            await asyncio.wait_for(self._guard.ask(line), _GUARD_TIMEOUT_S)

    def _drop(self, request: Request, session: Session) -> None:
        """Give up a command that may not have started yet. The guard keeps it from starting, or
        kills it."""
        if session.requested and not self.closed:
            self._guard.ask(f"drop {request.id}").add_done_callback(_ignore)
        session.abandon()


def _ignore(answer: asyncio.Future[tuple[bytes, int]]) -> None:
    """Take the exception of an answer that nobody waits for, so that asyncio does not report it."""
    if not answer.cancelled():
        answer.exception()
