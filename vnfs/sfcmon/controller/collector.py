"""Windows of one switch: polls the open one, ends it in time, and writes down what it was.

A bank is cleared only after its window was written. So the last window in the file and the bank
that is open tell a restarted controller what was written and what was not: windows end in the two
banks in turn, and an idle bank that was not the last one written still is to be.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from typing import Any

from sfcperf.errors import DeploymentError
from sfcperf.management.deployment import FlowWindow
from sfcperf.vnfs.sfcmon.controller import model
from sfcperf.vnfs.sfcmon.controller.bank_access import BankAccess
from sfcperf.vnfs.sfcmon.controller.session import Session
from sfcperf.vnfs.sfcmon.controller.window import EndedWindow, FoundFlows, OpenWindow
from sfcperf.vnfs.sfcmon.controller.window_log import WindowLog
from sfcperf.vnfs.sfcmon.running import flow_window
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds, share_register

KEPT_WINDOWS = 16
"""How many of the last windows are kept, for GET."""
_RETRY_S = 0.2
_END_TIMEOUT_S = 15.0
_MS_PER_S = 1000
_Asked = list[asyncio.Future[FlowWindow]]


class Collector:
    """Collects the windows of one switch. The fleet makes it and starts `run` as a task, which
    lasts until `stop`. Other methods may be called meanwhile."""

    def __init__(
        self,
        session: Session,
        settings: model.Monitoring,
        log: WindowLog,
        thrift: model.ThriftAddress,
    ) -> None:
        self._session = session
        self._settings = settings
        self._log = log
        self.thrift = thrift
        self._banks = BankAccess(session.name, thrift, session.thrift_socket)
        self._open: OpenWindow | None = None
        self._ended: EndedWindow | None = None
        """A window that is over and not written yet; None: there is none."""
        self._found = FoundFlows()
        self._next = _thresholds(settings)
        """Thresholds of the next window."""
        self._adapts = False
        """Whether the next window's thresholds follow from those of the open one."""
        self._anew = False
        """Whether what is in the banks belongs to no known window."""
        self._problem: str | None = "not begun yet"
        """Why no windows are collected; None: they are."""
        self._asked: _Asked = []
        """Requests that wait for the end of the open window."""
        self._answered: _Asked = []
        """Requests that wait until the window that has ended is written."""
        self._wake = asyncio.Event()
        """Ends a pause early."""
        self._stopping = False
        self.windows: deque[FlowWindow] = deque(maxlen=KEPT_WINDOWS)
        """The last windows that were written, in order."""
        self._polls = self._missed_polls = 0
        self._longest_poll_s = 0.0

    # --- what others ask ---

    def configure(self, settings: model.Monitoring) -> None:
        """Take new settings: thresholds and sizes hold from the next window on. New thresholds, or
        another number of flows to adapt them to, begin a new adaptation."""
        before, self._settings = self._settings, settings
        if (before.thresholds, before.adaptive_flows) != (
            settings.thresholds,
            settings.adaptive_flows,
        ):
            self._next, self._adapts = _thresholds(settings), False
        self._wake.set()

    async def end_window(self) -> FlowWindow:
        """End the open window now, and return it when it is written. Raises DeploymentError."""
        if self._problem is not None:
            raise DeploymentError(f"switch {self._session.name}: {self._problem}")
        future: asyncio.Future[FlowWindow] = asyncio.get_running_loop().create_future()
        self._asked.append(future)
        self._wake.set()
        try:
            async with asyncio.timeout(_END_TIMEOUT_S):
                return await future
        except TimeoutError:
            raise DeploymentError(
                f"switch {self._session.name}: its window did not end within {_END_TIMEOUT_S:g} s"
            ) from None

    def flows(self) -> list[dict[str, Any]]:
        """Return the flows that polls have found in the open window so far."""
        return self._found.described()

    def status(self) -> dict[str, Any]:
        """Return how the collection goes, as the REST interface shows it."""
        return {
            "problem": self._problem,
            "open_since_ns": None if self._open is None else self._open.start_ns,
            "windows": self._log.next_number(self._session.name),
            "polls": self._polls,
            "missed_polls": self._missed_polls,
            "longest_poll_ms": round(_MS_PER_S * self._longest_poll_s, 3),
        }

    # --- its life ---

    async def run(self) -> None:
        """Collect windows until `stop`, and begin again whenever the switch fails."""
        try:
            while not self._stopping:
                if self._session.usable.is_set():
                    await self._try()
                else:
                    self._problem = "the switch is not connected"
                if not self._stopping:
                    await self._pause(_RETRY_S)
        finally:
            self._refuse("the switch is not monitored any more")
            self._banks.end()

    def stop(self) -> None:
        """End the open window if the switch answers, and then `run`."""
        self._stopping = True
        self._wake.set()

    async def _try(self) -> None:
        """Take the switch over and serve it. If that fails, note why, and begin with a new
        connection next time."""
        try:
            await self._take_over()
            self._problem = None
            await self._serve()
        # Whatever a switch answers, the controller goes on, and says in its status what it was.
        except Exception as error:
            self._problem = str(error) or type(error).__name__
            self._refuse(self._problem)
            with suppress(Exception):
                await self._banks.disconnect()

    def _refuse(self, problem: str) -> None:
        """Answer all waiting requests with this problem."""
        for future in (*self._asked, *self._answered):
            if not future.done():
                future.set_exception(DeploymentError(f"switch {self._session.name}: {problem}"))
        self._asked, self._answered = [], []

    async def _serve(self) -> None:
        """Poll the open window, and end windows in time or when somebody asks, until `stop`."""
        clock = asyncio.get_running_loop().time
        next_poll = clock()
        end_s = clock() + self._settings.window_ms / _MS_PER_S
        while not self._stopping:
            await self._pause(min(next_poll, end_s) - clock())
            poll_s = self._settings.poll_ms / _MS_PER_S
            window_s = self._settings.window_ms / _MS_PER_S
            # Settings may have become shorter.
            next_poll, end_s = min(next_poll, clock() + poll_s), min(end_s, clock() + window_s)
            if self._asked:
                await self._end(asked=True)
                end_s = clock() + window_s
            elif clock() >= end_s:
                await self._end()
                # Windows that passed while the machine was busy are one long window.
                while end_s <= clock():
                    end_s += window_s
            if clock() >= next_poll:
                await self._poll()
                # Polls whose time is already over are left out.
                missed = int((clock() - next_poll) / poll_s)
                self._missed_polls += missed
                next_poll += (missed + 1) * poll_s
        await self._end(asked=True)

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until `_wake` is set; not at all if `seconds` is 0 or less."""
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
        self._wake.clear()

    async def _poll(self) -> None:
        """Look for new flows in the open window."""
        assert self._open is not None
        took_s = await self._banks.look(self._open, self._found)
        self._polls += 1
        self._longest_poll_s = max(self._longest_poll_s, took_s)

    # --- windows ---

    async def _take_over(self) -> None:
        """Find out which window is open in the switch and what was not written yet, and continue
        from there."""
        self._anew |= self._session.take_was_new()
        opened = OpenWindow.of_switch(await self._session.read_window())
        idle = 1 - opened.bank
        last = self._log.last(self._session.name)
        if self._anew or last is None or last.idle_bank is None:
            await self._begin_anew(idle)
            return
        if last.idle_bank == idle:
            # The window in the idle bank was written. The bank may not have been cleared after it.
            await self._banks.clear(idle)
        elif self._ended is None:
            # The controller was killed, or lost the switch, before it wrote the last window that
            # ended. Nobody knows when that was. Its thresholds and sizes are those that this
            # process has set, or else are taken to be those of the open window.
            before = self._open or opened
            self._ended = before.ended(time.time_ns())
            self._ended.bank, self._ended.start_ns = idle, last.end_ns
        opened.start_ns = last.end_ns if self._ended is None else self._ended.end_ns
        self._open, self._found, self._adapts = opened, FoundFlows(), True
        if self._ended is not None:
            await self._write(self._ended)

    async def _begin_anew(self, idle: int) -> None:
        """Begin with empty banks: what is in them belongs to no known window, and is thrown away.
        `idle` is the bank that is not open: it is cleared and opened. The other one is cleared when
        packets that still update it are done.

        A line `opened` in the file says that this window does not follow the one before. Until it
        is written, `_anew` holds, so that a failure on the way leads here again; a new process is
        led here by a line `opening`."""
        name = self._session.name
        event = {"switch": name, "number": self._log.next_number(name)}
        last = self._log.last(name)
        if last is not None and last.idle_bank is not None:
            self._log.append({"event": "opening", **event})
        self._ended = None
        await self._banks.clear(idle)
        opened = await self._open_bank(idle)
        await self._banks.wait_and_clear(1 - idle)
        self._log.append({"event": "opened", **event, "bank": idle, "start_ns": opened.start_ns})
        self._anew = False

    async def _end(self, *, asked: bool = False) -> None:
        """End the open window and begin the next one, in the bank that is clear. `asked`: somebody
        asked for the end, or `stop` did."""
        ended = self._open
        assert ended is not None
        if self._settings.adaptive_flows and self._adapts:
            self._next = await self._banks.adapted(ended, self._settings.adaptive_flows)
        # Whoever asks for the end of a window from now on means the next one.
        self._answered, self._asked = self._asked, []
        opened = await self._open_bank(1 - ended.bank)
        self._ended = ended.ended(opened.start_ns, asked=asked)
        await self._write(self._ended)

    async def _open_bank(self, bank: int) -> OpenWindow:
        """Open a window in a bank, which is clear, with the thresholds and sizes for the next
        window. Return it; it is the open one from now on."""
        sizes = Sizes(**self._settings.sizes.model_dump())
        opened = OpenWindow(bank, 0, self._next, sizes)
        await self._session.open_window(opened.entry())
        opened.start_ns = time.time_ns()
        self._open, self._found, self._adapts = opened, FoundFlows(), True
        return opened

    async def _write(self, ended: EndedWindow) -> None:
        """Write a window down, answer who asked for it, and clear its bank."""
        name = self._session.name
        line = ended.line(name, self._log.next_number(name), await self._banks.read(ended.bank))
        self._log.append(line)
        self._ended = None
        listed = await asyncio.to_thread(flow_window, line, ended.sizes)
        self.windows.append(listed)
        for answered in self._answered:
            if not answered.done():
                answered.set_result(listed)
        self._answered = []
        await self._banks.clear(ended.bank)


def _thresholds(settings: model.Monitoring) -> Thresholds:
    """Return the thresholds of the first window with these settings."""
    thresholds = settings.thresholds
    return Thresholds(thresholds.eval_packets, share_register(thresholds.share), thresholds.packets)
