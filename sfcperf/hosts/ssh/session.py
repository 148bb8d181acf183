"""Channels of an SSH connection: Session for one command, ShellChannel for a shell that answers."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import deque
from contextlib import suppress

# Importing this module takes long, because of asyncssh: import it inside functions only.
from asyncssh import EXTENDED_DATA_STDERR, SSHClientChannel, SSHClientSession

from sfcperf.hosts.ssh.access import Unreachable
from sfcperf.waiting import Event

UNTOLD = 255
"""Exit status when the server tells none: dropbear names only some signals."""

_MARK = re.compile(rb"^sfcperf-(started|cannot) (\d+)(?: (\d+))?\n", re.MULTILINE)
"""The line on standard error by which the start script (guest.py) says how the start went: process
id and start time, or the number of an error."""
_LOST = "the connection to {} was lost"


class Output:
    """Receives one output of a command: in a file (a descriptor, which `close` closes) or in
    memory. The Session calls both methods."""

    def __init__(self, file: int | None = None) -> None:
        self.file = file
        self.data = bytearray()
        """All that was received, if there is no file."""
        self.fault: OSError | None = None
        """Why the file could not be written; None: it could."""

    def write(self, data: bytes) -> None:
        """Append bytes. If the disk is full, `fault` keeps the error, and the rest is dropped."""
        if self.file is None:
            self.data += data
            return
        try:
            while data and self.fault is None:
                data = data[os.write(self.file, data) :]
        except OSError as error:
            self.fault = error

    def close(self) -> None:
        """Close the file, since no more output comes."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


class Lines(Output):
    """An output that is read line by line; it belongs to the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._reader = asyncio.StreamReader()

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._reader.feed_data(data)

    def close(self) -> None:
        """Let `line` know that no more output comes."""
        self._reader.feed_eof()

    async def line(self) -> bytes:
        """The next line, with its end. When no more comes: what is left, without an end."""
        return await self._reader.readline()


class Session(SSHClientSession[bytes]):
    """The channel of one command; Link makes it. asyncssh calls the methods that take what arrives,
    from `connection_made` to `connection_lost`. `started` and `ended` belong to the event loop; any
    thread may use `over`."""

    def __init__(self, id: str, host: str, stdout: Output, stderr: Output) -> None:
        loop = asyncio.get_running_loop()
        self.id = id
        self.host = host
        self.stdout = stdout
        self.stderr = stderr
        self.requested = False
        """Whether the command may have been sent."""
        self.lost = False
        """Whether the connection broke before the command ended."""
        self.pid = 0
        self.began = 0
        """Start time of the process in clock ticks. Together with the pid it names one process for
        ever."""
        self.started: asyncio.Future[int] = loop.create_future()
        """0, or the number of the error for which the command could not be started."""
        self.ended: asyncio.Future[int] = loop.create_future()
        self.over = Event()
        """Set when the command has ended and `status` is known."""
        self.status = 0
        """Exit status, negative for a signal; valid when `over` is set."""
        self.told: int | None = None
        """Status that the server told, negative for a signal; None: it has told none."""
        self._head = bytearray()
        """Standard error up to the start script's line, while that has not come."""
        self._eof = False
        self._channel: SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: SSHClientChannel[bytes]) -> None:
        """The channel is open; the command is sent next."""
        self._channel = chan
        self.requested = True

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Take output of the command. Its standard error begins with the line of our start
        script."""
        if datatype != EXTENDED_DATA_STDERR:
            self.stdout.write(data)
        elif self.started.done():
            self.stderr.write(data)
        else:
            self._head += data
            self._look_for_mark()

    def eof_received(self) -> bool:
        """Note that no more output comes. The end of the command is told separately: True keeps the
        channel open for it."""
        self._eof = True
        self._close_when_complete()
        return True

    def exit_status_received(self, status: int) -> None:
        """Note that the command ended by itself."""
        self.told = status
        self._close_when_complete()

    def exit_signal_received(self, signal_name: str, core: bool, message: str, lang: str) -> None:
        """Note that a signal ended the command."""
        known = getattr(signal, f"SIG{signal_name}", None)
        self.told = UNTOLD if known is None else -int(known)
        self._close_when_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the session: the channel is closed, or the whole connection is lost."""
        del exc  # of a connection that was closed in order, there is none either
        self._finish()

    def feed(self, data: bytes) -> None:
        """Write the rest of the standard input, and end it."""
        self.write(data)
        assert self._channel is not None
        with suppress(OSError):
            self._channel.write_eof()

    def write(self, data: bytes) -> None:
        """Write to the standard input."""
        assert self._channel is not None
        # A command may end without reading its input: its exit status says whether that is right.
        with suppress(OSError):
            self._channel.write(data)

    def abandon(self) -> None:
        """Close the channel without waiting for the command."""
        if self._channel is not None:
            self._channel.close()

    def _look_for_mark(self) -> None:
        """Look for the start script's line in the standard error; set `started` when it is
        there."""
        head = bytes(self._head)
        found = _MARK.search(head)
        if found is None:
            return
        # Text before the line comes from the login shell, not from the command: it is dropped.
        self.stderr.write(head[found.end() :])
        self._head.clear()
        if found[1] == b"started":
            self.pid, self.began = int(found[2]), int(found[3])
            self.started.set_result(0)
        else:
            self.started.set_result(int(found[2]))

    def _close_when_complete(self) -> None:
        """Close the channel when the command has ended, half a second later if its outputs are
        still open."""
        # Children of a command that ended may keep its outputs open; it counts as ended all the
        # same, as a local command does. What it wrote itself arrives before its status or at once
        # after it.
        if self.told is None or self._channel is None:
            return
        delay_s = 0.0 if self._eof else 0.5
        asyncio.get_running_loop().call_later(delay_s, self._channel.close)

    def _finish(self) -> None:
        """Settle all futures, once: the channel is closed, so nothing more comes."""
        if self.ended.done():
            return
        self.lost = self.told is None and not self._eof
        self.status = self._final_status()
        if not self.started.done():
            output = bytes(self._head).decode(errors="replace").strip()
            lost = _LOST.format(self.host)
            self.started.set_exception(Unreachable(lost if self.lost else output or lost))
            self.started.exception()  # taken here, in case that nobody waits for it
        elif self.pid:  # a command that did not start may be sent again, with the same outputs
            self.stdout.close()
            self.stderr.close()
        self.ended.set_result(self.status)
        self.over.set()

    def _final_status(self) -> int:
        """Status of the ended command: told by the server, UNTOLD, or that of SIGKILL if the
        connection was lost, since the guard kills the command then. Of a command that had started,
        the standard error gets a line that says so."""
        if self.told is not None:
            return self.told
        if not self.lost:
            return UNTOLD
        if self.pid:
            self.stderr.write(f"sfcperf: {_LOST.format(self.host)}\n".encode())
        return -int(signal.SIGKILL)  # by the guard


class ShellChannel(SSHClientSession[bytes]):
    """The channel of a shell that answers each line with some bytes and a status, in the order of
    the lines: a guard, or the shell that reads files. Link makes it, and uses `expect`, `ask` and
    `close`; asyncssh calls the others."""

    def __init__(self, host: str, token: str) -> None:
        self._host = host
        self._end = re.compile(rb"\n" + token.encode() + rb" (\d+)\n")
        """The mark after each answer, with its status."""
        self._answers: deque[asyncio.Future[tuple[bytes, int]]] = deque()
        """Answers that are still to come, in the order of the questions."""
        self._buffer = bytearray()
        """Standard output that belongs to the next answer."""
        self._complaints = bytearray()
        """Standard error."""
        self._searched = 0
        """Bytes at the start of the buffer in which there is no mark."""
        self._channel: SSHClientChannel[bytes] | None = None
        self.closed = False

    def connection_made(self, chan: SSHClientChannel[bytes]) -> None:
        """The channel is open."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Split what the shell prints into answers, and give each to the oldest open question."""
        if datatype == EXTENDED_DATA_STDERR:
            self._complaints += data
            return
        self._buffer += data
        while found := self._end.search(self._buffer, self._searched):
            answer = bytes(self._buffer[: found.start()]), int(found[1])
            del self._buffer[: found.end()]
            self._searched = 0
            if self._answers:
                waiting = self._answers.popleft()
                # Whoever asked may have given up; the answer is dropped then.
                if not waiting.done():
                    waiting.set_result(answer)
        # The mark after an answer may arrive in two parts. It has at most 64 bytes: search those
        # again.
        self._searched = max(0, len(self._buffer) - 64)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let all open questions fail with Unreachable; nothing is answered any more."""
        del exc
        self.closed = True
        complaint = bytes(self._buffer + self._complaints).decode(errors="replace").strip()
        for waiting in self._answers:
            if not waiting.done():
                waiting.set_exception(Unreachable(complaint or _LOST.format(self._host)))
        self._answers.clear()

    def expect(self) -> asyncio.Future[tuple[bytes, int]]:
        """Return the future of the next answer that nobody waits for yet. The guard's first answer,
        that it is ready, has no question."""
        waiting: asyncio.Future[tuple[bytes, int]] = asyncio.get_running_loop().create_future()
        if self.closed:
            waiting.set_exception(Unreachable(_LOST.format(self._host)))
        else:
            self._answers.append(waiting)
        return waiting

    def ask(self, line: str) -> asyncio.Future[tuple[bytes, int]]:
        """Send a line; return the future answer: its bytes and its status.

        The answer raises Unreachable if the connection is lost first.
        """
        waiting = self.expect()
        if self._channel is not None and not self.closed:
            with suppress(OSError):  # just closed: connection_lost then fails the answer
                self._channel.write(line.encode() + b"\n")
        return waiting

    def close(self) -> None:
        """End the shell by closing its channel."""
        if self._channel is not None:
            self._channel.close()
