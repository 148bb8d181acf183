"""Pool: the SSH connections to one host. There are several where the server limits what each
carries."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.hosts.ssh.access import SshAccess, Unreachable, knock, words
from sfcperf.hosts.ssh.link import ConnectionLost, Link, NoChannel, Request
from sfcperf.hosts.ssh.session import Output, Session

_TRIES = 32
_MOST_LINKS = 64


class Pool:
    """Opens connections to one host as needed, and starts commands through them. SshHost has one.
    All methods but the constructor belong to the event loop."""

    def __init__(self, name: str, access: SshAccess, workdir: Path, jump: Pool | None) -> None:
        self._name = name
        self._access = access
        self._workdir = workdir
        self._jump = jump
        self._links: list[Link] = []
        self._connecting = asyncio.Lock()
        self._opening_reader = asyncio.Lock()

    async def answers(self, timeout_s: float) -> None:
        """Return when somebody listens at the address. Raises Unreachable when nobody does."""
        try:
            tunnel = None if self._jump is None else (await self._jump._any()).connection
            await knock(self._access.address, self._access.port, timeout_s, tunnel)
        except (OSError, TimeoutError) as error:
            raise Unreachable(f"{self._access} does not answer by SSH: {words(error)}") from error

    async def connect(self, timeout_s: float) -> Link:
        """Return a connection, an existing one if there is one. Raises Unreachable, also after
        timeout_s."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._any()
        except TimeoutError as error:
            raise Unreachable(
                f"{self._access} did not complete the login within {timeout_s:g} s"
            ) from error

    async def start(
        self,
        argv: Sequence[str],
        *,
        stdin: bool = False,
        spawned: bool = False,
        stdout: Output | None,
        stderr: Output | None,
    ) -> tuple[Link, Session]:
        """Start a command, on a new connection if the old one broke.

        A command that was not started is sent again. Raises MeasurementError when the command
        cannot be started, and when the connection broke after it was.
        """
        for _ in range(_TRIES):
            name = secrets.token_hex(6)
            request = Request(name, tuple(argv), stdin, spawned, stdout, stderr)
            link = await self._take()
            try:
                session = await link.start(request)
            except NoChannel:
                continue
            except ConnectionLost as lost:
                started = lost.requested and await self._had_started(link, request)
                await link.close()
                if started:
                    raise MeasurementError(
                        f"the connection to {self._name} was lost as {argv[0]} was started; "
                        "it was stopped there"
                    ) from lost
                continue
            if number := session.started.result():
                raise MeasurementError(
                    f"{argv[0]} cannot be started on {self._name}: {os.strerror(number)}",
                    hint="is it installed there? `sfcperf.hosts.carry.equip` copies tools",
                )
            return link, session
        raise self._given_up("started no command")

    async def read(self, path: str, timeout_s: float) -> tuple[bytes, int]:
        """Return the file's bytes and 0, or what `cat` says about it and its exit status. Raises
        TimeoutError, and MeasurementError when _TRIES connections in a row broke."""
        for _ in range(_TRIES):
            with suppress(NoChannel, ConnectionLost):
                # One shell serves all readings. It needs the connection for itself only while its
                # channel is opened.
                async with self._opening_reader:
                    link = next((each for each in self._links if each.reads), None)
                    if link is None:
                        link = await self._take()
                        await link.open_reader()
                        link.give_back()
                return await link.read(path, timeout_s)
        raise self._given_up(f"could not be asked for {path}")

    async def close(self) -> None:
        """Close all connections; what was started through them ends."""
        links, self._links = self._links, []
        await asyncio.gather(*(link.close() for link in links))

    async def _any(self) -> Link:
        """Return a connection that lives, whether or not it can start a command now."""
        async with self._connecting:
            alive = next((link for link in self._links if not link.closed), None)
            return alive or await self._open()

    async def _take(self) -> Link:
        """Return a connection that can start a command, and reserve it."""
        async with self._connecting:
            free = next((link for link in self._links if link.free), None)
            link = free or await self._open()
            link.take()
            return link

    async def _open(self) -> Link:
        """Open a further connection, through the jump host if there is one. Raises MeasurementError
        if there are too many."""
        self._links = [link for link in self._links if not link.closed]
        if len(self._links) >= _MOST_LINKS:
            raise MeasurementError(
                f"{self._name} takes no more commands at a time: {_MOST_LINKS} connections are full"
            )
        tunnel = None if self._jump is None else (await self._jump._any()).connection
        link = await Link.open(self._name, self._access, self._workdir, tunnel)
        self._links.append(link)
        return link

    async def _had_started(self, link: Link, request: Request) -> bool:
        """Whether a command whose answer is missing had been started; True when nobody can tell."""
        if not link.closed:
            # The connection lives, only the channel was closed: dropbear does that when a command
            # of another channel ends between the two messages that open a channel and send its
            # command.
            with suppress(Unreachable, TimeoutError):
                return await link.had_started(link, request)
        try:
            return await (await self._any()).had_started(link, request)
        except (Unreachable, TimeoutError):
            return True  # unknown: if it were sent again, it could run twice

    def _given_up(self, what: str) -> MeasurementError:
        """The error after _TRIES attempts; `what`: what the host did not do."""
        return MeasurementError(f"{self._name} {what} in {_TRIES} attempts")
