"""A connection to a switch by P4Runtime, which comes back by itself."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.sfcmon.bmv2.reading import counters, read
from sfcperf.vnfs.sfcmon.controller import model
from sfcperf.vnfs.sfcmon.controller.entries import Entry
from sfcperf.vnfs.sfcmon.controller.tables import (
    Phase,
    applied,
    everything,
    of_p4,
    to_p4,
    updates,
)
from sfcperf.vnfs.sfcmon.controller.tunnel import Tunnel

if TYPE_CHECKING:
    from finsy import P4TableEntry, Switch

_FINSY = logging.getLogger("finsy")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_CONNECT_TIMEOUT_S = 10.0
_ENTRIES_AT_ONCE = 500
"""Entries in one message of P4Runtime, which may not be larger than 4 MiB."""


class Session:
    """Keeps connected to a switch, loads its program if it has another one or none, and writes
    what differs from the wanted entries. The fleet makes one for each switch, starts `run` as a
    task, and calls `want` and `write`."""

    def __init__(self, name: str, switch: model.Switch, news: Callable[[], None]) -> None:
        """`news` is called when the switch can be written to again."""
        self.name = name
        self._switch = switch
        self._tunnel = Tunnel(switch)
        self.wanted: Sequence[Entry] = ()
        """Entries that the switch must have."""
        self._news = news
        self._p4: Switch | None = None
        """The connection; None while this controller is not the primary one of the switch."""
        self._actual: list[Entry] | None = None
        """Entries of the switch; None: not known."""
        self._problem: str | None = "not connected yet"
        """Why the switch is not in sync; None: it is."""
        self._since_ns = time.time_ns()
        """When this problem began, or ended; Unix time."""
        self._lock = asyncio.Lock()
        self._was_new = False
        """Whether the switch turned out to be new since `take_was_new` was called."""
        self._pause_s = _FIRST_PAUSE_S
        """Time until the next attempt to connect."""
        self.usable = asyncio.Event()
        """Set while the switch is connected and this controller is its primary, from the first
        `write` on."""

    def serves(self, switch: model.Switch) -> bool:
        """Whether this connection is right for a switch with this description."""
        return _reached_by(self._switch) == _reached_by(switch)

    @property
    def thrift_socket(self) -> Path | None:
        """Unix socket that leads to Thrift of the switch while it is connected; None: no socket is
        needed."""
        return self._tunnel.thrift_socket

    # --- the connection ---

    async def run(self) -> None:
        """Stay connected, and connect again whenever the connection ends, until this is
        cancelled."""
        try:
            while True:
                try:
                    async with self._tunnel.open() as address:
                        await self._stay_connected(address)
                # Whatever a switch answers, the controller goes on, and says in its status what it
                # was.
                except Exception as error:
                    self._note(f"{self._switch.p4runtime}: {_words(error)}")
                await asyncio.sleep(self._pause_s)
                self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        finally:
            self._tunnel.remove()

    async def _stay_connected(self, address: str) -> None:
        """Connect to P4Runtime at this address, become the primary controller of the switch, and
        stay it. Raises why the connection is over."""
        import finsy

        program = self._switch.program
        # p4force is not set: so a switch that has the program keeps it, and its tables with it.
        options = finsy.SwitchOptions(
            p4info=program.p4info, p4blob=program.json, device_id=self._switch.device
        )
        connection = finsy.Switch(self.name, address, options)
        async with asyncio.timeout(_CONNECT_TIMEOUT_S):
            await _open(connection)
        try:
            down = connection.ee.event_future(finsy.SwitchEvent.CHANNEL_DOWN)
            while not connection.is_primary and not down.done():
                self._note("another controller is the primary one of this switch")
                primary = connection.ee.event_future(finsy.SwitchEvent.BECOME_PRIMARY)
                await asyncio.wait({down, primary}, return_when=asyncio.FIRST_COMPLETED)
            if down.done():
                raise DeploymentError("the connection was lost")
            backup = connection.ee.event_future(finsy.SwitchEvent.BECOME_BACKUP)
            self._begin(connection)
            await asyncio.wait({down, backup}, return_when=asyncio.FIRST_COMPLETED)
            raise DeploymentError(
                "the connection was lost" if down.done() else "another controller took over"
            )
        finally:
            self.usable.clear()
            self._p4 = None
            with suppress(Exception):
                await connection.__aexit__(None, None, None)

    def _begin(self, connection: Switch) -> None:
        """Take a connection on which this is the primary controller. What the switch has is not
        known yet."""
        self._p4, self._actual, self._pause_s = connection, None, _FIRST_PAUSE_S
        self._note("its tables were not read yet")
        self._news()

    def _note(self, problem: str | None) -> None:
        """Note what is wrong with the switch (None: nothing), and since when."""
        if problem != self._problem:
            self._problem, self._since_ns = problem, time.time_ns()

    @property
    def primary(self) -> Switch:
        """The connection, while this is the primary controller. Raises DeploymentError
        otherwise."""
        if self._p4 is None:
            raise DeploymentError(f"switch {self.name}: {self._problem}")
        return self._p4

    @property
    def needs_writing(self) -> bool:
        """Whether it is connected and its entries may differ from those that it must have."""
        return self._p4 is not None and self._problem is not None

    def status(self) -> dict[str, Any]:
        """Return the state of connection and tables, as the REST interface shows it."""
        return {
            "connected": self._p4 is not None,
            "in_sync": self._p4 is not None and self._problem is None,
            "problem": self._problem,
            "since_ns": self._since_ns,
            "entries": None if self._actual is None else len(self._actual),
            "wanted_entries": len(self.wanted),
        }

    # --- tables ---

    def want(self, entries: Sequence[Entry]) -> None:
        """Set the entries that the switch must have from now on."""
        if entries != self.wanted:
            self.wanted = entries
            if self._p4 is not None:
                self._note("its tables are being written")

    async def write(self, phase: Phase) -> bool:
        """Write what this phase must, and return True; False if that fails or the switch is not
        connected, and then the status says why."""
        async with self._lock:
            if self._p4 is None:
                return False
            try:
                await self._write(phase)
            except Exception as error:
                # Some of the updates may have been done, so the entries are not known any more.
                self._actual = None
                self._note(f"its tables cannot be written: {_words(error)}")
                return False
        if phase is Phase.REMOVE and set(self._actual or ()) == set(self.wanted):
            self._note(None)
        self.usable.set()
        return True

    async def _write(self, phase: Phase) -> None:
        """Write what a phase must, in portions. Entries of the switch that are not known are read
        first."""
        if self._actual is None:
            self._actual = await self._read()
            # A controller writes `node` into each switch.
            self._was_new |= not any(entry.table == "node" for entry in self._actual)
        todo = updates(phase, self._actual, self.wanted)
        for write, some in (
            (self.primary.insert, todo.insert),
            (self.primary.modify, todo.modify),
            (self.primary.delete, todo.delete),
        ):
            for start in range(0, len(some), _ENTRIES_AT_ONCE):
                await write([to_p4(entry) for entry in some[start : start + _ENTRIES_AT_ONCE]])
        self._actual = applied(self._actual, todo)

    async def _read(self) -> list[Entry]:
        """Read all entries of the controller's tables."""
        entries = [of_p4(e) for table in everything() for e in await read(self.primary, table)]
        return [entry for entry in entries if entry is not None]

    # --- counters ---

    async def counters(self) -> Mapping[str, Any]:
        """Return the switch's `paths`, `drops` and `forwarded` (bmv2.reading.counters). Raises
        DeploymentError."""
        with self._deployment_errors():
            return await counters(self.primary)

    # --- windows ---

    def take_was_new(self) -> bool:
        """Return whether the switch turned out to be new since this was last asked, and forget it.
        The registers of a new switch are 0."""
        was_new, self._was_new = self._was_new, False
        return was_new

    async def read_window(self) -> Mapping[str, int]:
        """Return the parameters of the table `window`: which bank is open, its thresholds and
        sizes. Raises DeploymentError."""
        from finsy import Action, P4TableEntry

        with self._deployment_errors():
            entry = P4TableEntry("window", is_default_action=True)
            [opened] = await read(self.primary, entry)
        assert isinstance(opened.action, Action)
        return {name: int(value) for name, value in opened.action.args.items()}

    async def open_window(self, entry: P4TableEntry) -> None:
        """Write the table `window`, which opens a window. Raises DeploymentError; the window may
        have been opened all the same."""
        with self._deployment_errors():
            await self.primary.modify([entry])

    @contextmanager
    def _deployment_errors(self) -> Iterator[None]:
        """Turn what goes wrong with the switch into a DeploymentError that names it."""
        try:
            yield
        except DeploymentError:
            raise
        except Exception as error:
            raise DeploymentError(f"switch {self.name}: {_words(error)}") from error


def _reached_by(switch: model.Switch) -> tuple[Any, ...]:
    """Return what a session depends on. A tunnel leads to Thrift as well."""
    thrift = None if switch.ssh is None else switch.thrift
    return switch.p4runtime, switch.ssh, thrift, switch.device, switch.program


async def _open(connection: Switch) -> None:
    """Open the connection. Raises what finsy raises, and DeploymentError."""
    reasons = _FailureLog(connection.name)
    _FINSY.addHandler(reasons)
    try:
        await connection.__aenter__()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # When one of its tasks fails, finsy cancels the others, and this is all that comes out.
        raise reasons.last or DeploymentError("the connection was lost") from None
    finally:
        _FINSY.removeHandler(reasons)


class _FailureLog(logging.Handler):
    """Catches the error with which a task of finsy has failed, which only finsy's log says."""

    def __init__(self, switch: str) -> None:
        super().__init__(logging.CRITICAL)
        self._task = f"fy:{switch}|"
        self.last: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the error of a record that is about this switch."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception) and self._task in record.getMessage():
            self.last = error


def _words(error: Exception) -> str:
    """Return in one line what went wrong."""
    from finsy import GRPCStatusCode, P4ClientError

    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, P4ClientError):
        if error.code is GRPCStatusCode.UNAVAILABLE:
            return "it does not answer"
        details = [each.message for each in error.details.values() if each.message]
        words = details[0] if details else error.message
        return f"{error.code.name}: {words}".splitlines()[0]
    return (str(error) or type(error).__name__).splitlines()[0]
