"""Channels of an SSH connection: of one command, and of a shell that answers questions."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import deque
from contextlib import suppress

# It takes its time: import this module inside functions only.
from asyncssh import EXTENDED_DATA_STDERR, SSHClientChannel, SSHClientSession

from sfcperf.hosts.ssh.access import Unreachable
from sfcperf.waiting import Event

UNTOLD = 255
"""Exit status where the server says none: dropbear names only some signals."""

_MARK = re.compile(rb"^sfcperf-(started|cannot) (\d+)(?: (\d+))?\n", re.MULTILINE)
_LOST = "the connection to {} was lost"


class Output:
    """Where one output of a command goes: a file descriptor (closed at the end), or memory."""

    def __init__(self, file: int | None = None) -> None:
        self.file = file
        self.data = bytearray()
        self.fault: OSError | None = None

    def write(self, data: bytes) -> None:
        """Append; a disk that is full is remembered, and the rest is dropped."""
        if self.file is None:
            self.data += data
            return
        try:
            while data and self.fault is None:
                data = data[os.write(self.file, data) :]
        except OSError as error:
            self.fault = error

    def close(self) -> None:
        """No more comes."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


class Lines(Output):
    """An output that is read line by line; it belongs to the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._reader = asyncio.StreamReader()

    def write(self, data: bytes) -> None:
        """Append."""
        self._reader.feed_data(data)

    def close(self) -> None:
        """No more comes."""
        self._reader.feed_eof()

    async def line(self) -> bytes:
        """The next line, with its end; what is left, without an end, when no more comes."""
        return await self._reader.readline()


class Session(SSHClientSession[bytes]):
    """One command. `started` and `ended` belong to the event loop, `over` to any thread."""

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
        """Start time of the process in ticks, with which the pid names it for ever."""
        self.started: asyncio.Future[int] = loop.create_future()
        """0, or the number of the error for which the command could not be started."""
        self.ended: asyncio.Future[int] = loop.create_future()
        self.over = Event()
        self.status = 0
        """Exit status, negative for a signal; holds when `over` is set."""
        self.told: int | None = None
        """What the server said about the end."""
        self._head = bytearray()
        self._eof = False
        self._channel: SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: SSHClientChannel[bytes]) -> None:
        """The channel is open; the command is sent next."""
        self._channel = chan
        self.requested = True

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Output of the command; its standard error begins with our own line."""
        if datatype != EXTENDED_DATA_STDERR:
            self.stdout.write(data)
        elif self.started.done():
            self.stderr.write(data)
        else:
            self._head += data
            self._look_for_mark()

    def eof_received(self) -> bool:
        """No more output; its end is told separately."""
        self._eof = True
        self._close_when_complete()
        return True

    def exit_status_received(self, status: int) -> None:
        """The command ended by itself."""
        self.told = status
        self._close_when_complete()

    def exit_signal_received(self, signal_name: str, core: bool, message: str, lang: str) -> None:
        """The command was ended by a signal."""
        known = getattr(signal, f"SIG{signal_name}", None)
        self.told = UNTOLD if known is None else -int(known)
        self._close_when_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel is closed, or the whole connection is."""
        del exc  # of a connection that was closed in order, there is none either
        self._finish()

    def feed(self, data: bytes) -> None:
        """Standard input, the rest of it."""
        self.write(data)
        assert self._channel is not None
        with suppress(OSError):
            self._channel.write_eof()

    def write(self, data: bytes) -> None:
        """Standard input, some of it."""
        assert self._channel is not None
        # One that ended without reading: its exit status says whether that is right.
        with suppress(OSError):
            self._channel.write(data)

    def abandon(self) -> None:
        """Close the channel without waiting for the command."""
        if self._channel is not None:
            self._channel.close()

    def _look_for_mark(self) -> None:
        head = bytes(self._head)
        found = _MARK.search(head)
        if found is None:
            return
        # What came before is of the login shell: not the command's.
        self.stderr.write(head[found.end() :])
        self._head.clear()
        if found[1] == b"started":
            self.pid, self.began = int(found[2]), int(found[3])
            self.started.set_result(0)
        else:
            self.started.set_result(int(found[2]))

    def _close_when_complete(self) -> None:
        # A command that ended may leave children behind that hold its outputs: as a local one, it
        # has ended nevertheless. What it wrote itself comes before that, or at once after.
        if self.told is None or self._channel is None:
            return
        delay_s = 0.0 if self._eof else 0.5
        asyncio.get_running_loop().call_later(delay_s, self._channel.close)

    def _finish(self) -> None:
        if self.ended.done():
            return
        self.lost = self.told is None and not self._eof
        self.status = self._final_status()
        if not self.started.done():
            output = bytes(self._head).decode(errors="replace").strip()
            lost = _LOST.format(self.host)
            self.started.set_exception(Unreachable(lost if self.lost else output or lost))
            self.started.exception()  # nobody may be waiting for it
        elif self.pid:  # one that did not start is perhaps started again, with the same outputs
            self.stdout.close()
            self.stderr.close()
        self.ended.set_result(self.status)
        self.over.set()

    def _final_status(self) -> int:
        if self.told is not None:
            return self.told
        if not self.lost:
            return UNTOLD
        if self.pid:
            self.stderr.write(f"sfcperf: {_LOST.format(self.host)}\n".encode())
        return -int(signal.SIGKILL)  # the guard's doing


class ShellChannel(SSHClientSession[bytes]):
    """A shell that answers one line with some bytes and a status, in order."""

    def __init__(self, host: str, token: str) -> None:
        self._host = host
        self._end = re.compile(rb"\n" + token.encode() + rb" (\d+)\n")
        self._answers: deque[asyncio.Future[tuple[bytes, int]]] = deque()
        self._buffer = bytearray()
        self._complaints = bytearray()
        self._searched = 0
        self._channel: SSHClientChannel[bytes] | None = None
        self.closed = False

    def connection_made(self, chan: SSHClientChannel[bytes]) -> None:
        """The channel is open."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Answers, in the order of the questions."""
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
                if not waiting.done():
                    waiting.set_result(answer)
        # An end may be cut in two; it is not longer than that.
        self._searched = max(0, len(self._buffer) - 64)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is answered."""
        del exc
        self.closed = True
        complaint = bytes(self._buffer + self._complaints).decode(errors="replace").strip()
        for waiting in self._answers:
            if not waiting.done():
                waiting.set_exception(Unreachable(complaint or _LOST.format(self._host)))
        self._answers.clear()

    def expect(self) -> asyncio.Future[tuple[bytes, int]]:
        """The next answer that is not expected yet."""
        waiting: asyncio.Future[tuple[bytes, int]] = asyncio.get_running_loop().create_future()
        if self.closed:
            waiting.set_exception(Unreachable(_LOST.format(self._host)))
        else:
            self._answers.append(waiting)
        return waiting

    def ask(self, line: str) -> asyncio.Future[tuple[bytes, int]]:
        """Send a line; gives the bytes of the answer and its status.

        The answer raises Unreachable when the connection is lost first.
        """
        waiting = self.expect()
        if self._channel is not None and not self.closed:
            with suppress(OSError):  # just closed: connection_lost tells who waits
                self._channel.write(line.encode() + b"\n")
        return waiting

    def close(self) -> None:
        """End the shell: its input ends."""
        if self._channel is not None:
            self._channel.close()
