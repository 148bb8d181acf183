"""Windows of one switch: polls the open one, ends it in time, and writes down what it was.

A bank is cleared only after its window was written. So the last window in the file and the bank
that is open tell a restarted controller what was written and what was not: windows end in the two
banks in turn, and an idle bank that was not the last one written still is to be.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sfcperf.errors import DeploymentError
from sfcperf.management.deployment import FlowWindow
from sfcperf.sketches.iblt import Cells
from sfcperf.sketches.listing import listing
from sfcperf.vnfs.sfcmon.bmv2.banks import Bank, window
from sfcperf.vnfs.sfcmon.bmv2.registers import Registers
from sfcperf.vnfs.sfcmon.controller import model
from sfcperf.vnfs.sfcmon.controller.session import Session
from sfcperf.vnfs.sfcmon.controller.window_log import WindowLog
from sfcperf.vnfs.sfcmon.packet import Flow, unpadded
from sfcperf.vnfs.sfcmon.running import flow_window
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds, share_register

KEPT_WINDOWS = 16
"""The last ones, for GET."""
_RETRY_S = 0.2
_END_TIMEOUT_S = 15.0
T = TypeVar("T")


@dataclass
class _Open:
    """A window that goes on."""

    bank: int
    start_ns: int
    thresholds: Thresholds
    sizes: Sizes


@dataclass
class _Ended(_Open):
    """One that is over, and not written yet."""

    end_ns: int
    asked: bool


@dataclass
class _Found:
    """What polls have found in the open window."""

    inserted: int = 0
    """Flows in the IBLT when it was last read."""
    settled: bool = True
    """Whether reading it again would give the same."""
    flows: dict[bytes, int] = field(default_factory=dict)
    """FlowID2 -> Unix time (ns) at which it was found."""


class Collector:
    """Of one switch. `run` is to be a task; `stop` ends it and the open window."""

    def __init__(
        self, session: Session, settings: model.Monitoring, log: WindowLog, thrift: model.Thrift
    ) -> None:
        self._session = session
        self._settings = settings
        self._log = log
        self._thrift = thrift
        self._registers: Registers | None = None
        # Thrift has one answer at a time.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"windows of {session.name}")
        self._open: _Open | None = None
        self._ended: _Ended | None = None
        self._next = self._first_thresholds()
        self._found = _Found()
        self._problem: str | None = "not begun yet"
        self._keep_thresholds = False
        """Whether the next window has those of `_next`, and not adapted ones."""
        self._anew = False
        self._asked: list[asyncio.Future[FlowWindow]] = []
        """For a window that is open."""
        self._answered: list[asyncio.Future[FlowWindow]] = []
        """For the one that has ended."""
        self._wake = asyncio.Event()
        self._stopping = False
        self.windows: deque[FlowWindow] = deque(maxlen=KEPT_WINDOWS)
        self._polls = self._missed_polls = 0
        self._longest_poll_s = 0.0

    # --- what others ask ---

    def configure(self, settings: model.Monitoring) -> None:
        """New settings: thresholds and sizes hold from the next window on."""
        before, self._settings = self._settings, settings
        if (before.thresholds, before.adaptive_flows) != (
            settings.thresholds,
            settings.adaptive_flows,
        ):
            self._next, self._keep_thresholds = self._first_thresholds(), True
        self._wake.set()

    async def end_window(self) -> FlowWindow:
        """End the open window now. Raises DeploymentError."""
        if self._problem is not None:
            raise DeploymentError(f"switch {self._session.name}: {self._problem}")
        asked: asyncio.Future[FlowWindow] = asyncio.get_running_loop().create_future()
        self._asked.append(asked)
        self._wake.set()
        try:
            async with asyncio.timeout(_END_TIMEOUT_S):
                return await asked
        except TimeoutError:
            raise DeploymentError(
                f"switch {self._session.name}: its window did not end within {_END_TIMEOUT_S:g} s"
            ) from None

    def flows(self) -> list[dict[str, Any]]:
        """Flows that were found in the open window so far."""
        return [
            {**_described(Flow.of_key(key)), "found_ns": found_ns}
            for key, found_ns in self._found.flows.items()
        ]

    def status(self) -> dict[str, Any]:
        """For people and programs."""
        return {
            "problem": self._problem,
            "open_since_ns": None if self._open is None else self._open.start_ns,
            "windows": self._log.next_number(self._session.name),
            "polls": self._polls,
            "missed_polls": self._missed_polls,
            "longest_poll_ms": round(1000 * self._longest_poll_s, 3),
        }

    # --- its life ---

    async def run(self) -> None:
        """Until `stop`."""
        try:
            while not self._stopping:
                await self._wait_for_switch()
                if not self._stopping:
                    await self._try()
        finally:
            self._refuse("the switch is not monitored any more")
            self._thread.submit(self._disconnect)
            self._thread.shutdown(wait=False)

    def stop(self) -> None:
        """End the open window if the switch answers, and then `run`."""
        self._stopping = True
        self._wake.set()

    async def _wait_for_switch(self) -> None:
        while not self._session.usable.is_set() and not self._stopping:
            self._problem = "the switch is not connected"
            await self._pause(_RETRY_S)

    async def _try(self) -> None:
        try:
            await self._take_over()
            self._problem = None
            await self._serve()
        # Whatever a switch answers, the controller goes on, and says in its status what it was.
        except Exception as error:
            self._problem = str(error) or type(error).__name__
            self._refuse(self._problem)
            await self._in_thread(self._disconnect)
            if not self._stopping:
                await asyncio.sleep(_RETRY_S)

    def _refuse(self, problem: str) -> None:
        for asked in (*self._asked, *self._answered):
            if not asked.done():
                asked.set_exception(DeploymentError(f"switch {self._session.name}: {problem}"))
        self._asked, self._answered = [], []

    async def _serve(self) -> None:
        clock = asyncio.get_running_loop().time
        next_poll = clock()
        end_s = clock() + self._settings.window_ms / 1000
        while not self._stopping:
            await self._pause(min(next_poll, end_s) - clock())
            poll_s, window_s = self._settings.poll_ms / 1000, self._settings.window_ms / 1000
            # Settings may have become shorter.
            next_poll, end_s = min(next_poll, clock() + poll_s), min(end_s, clock() + window_s)
            if self._asked:
                await self._end(asked=True)
                end_s = clock() + window_s
            elif clock() >= end_s:
                await self._end(asked=False)
                # Windows that passed while the machine was busy are one long window.
                while end_s <= clock():
                    end_s += window_s
            if clock() >= next_poll:
                await self._poll()
                missed = int((clock() - next_poll) / poll_s)
                self._missed_polls += missed
                next_poll += (missed + 1) * poll_s
        await self._end(asked=True)

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                return
        self._wake.clear()

    async def _in_thread(self, action: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)

    # --- windows ---

    async def _take_over(self) -> None:
        """Find out where the switch is, and go on from there."""
        self._anew |= self._session.take_was_new()
        opened = _opened(await self._session.read_window())
        last = self._log.last(self._session.name)
        if self._anew or last is None:
            await self._begin_anew(1 - opened.bank)
            return
        idle = 1 - opened.bank
        if last.idle_bank == idle:
            await self._in_thread(lambda: self._bank(idle).clear())
        elif self._ended is None:
            # The controller was killed, or lost the switch, before it wrote the last window that
            # ended. Nobody knows when that was.
            before, now_ns = self._open or opened, time.time_ns()
            self._ended = _Ended(
                idle, last.end_ns, before.thresholds, before.sizes, now_ns, asked=False
            )
        self._open, self._found = opened, _Found()
        opened.start_ns = last.end_ns if self._ended is None else self._ended.end_ns
        if self._ended is not None:
            await self._write_ended()

    async def _begin_anew(self, bank: int) -> None:
        """What is in the banks belongs to no known window."""
        self._ended = None
        await self._in_thread(lambda: self._bank(bank).clear())
        opened = await self._open_bank(bank)
        await self._in_thread(lambda: self._wait_and_clear(1 - bank))
        name = self._session.name
        event = {"event": "opened", "switch": name, "number": self._log.next_number(name)}
        self._log.append({**event, "bank": bank, "start_ns": opened.start_ns})
        self._anew = False

    def _wait_and_clear(self, bank: int) -> None:
        self._bank(bank).wait_until_done()
        self._bank(bank).clear()

    async def _end(self, *, asked: bool) -> None:
        """End the open window and begin the next, in the bank that is clear."""
        ended = self._open
        assert ended is not None
        if self._settings.adaptive_flows and not self._keep_thresholds:
            self._next = await self._in_thread(lambda: self._adapted(ended))
        # Whoever asks from now on wants the next window.
        self._answered, self._asked = self._asked, []
        opened = await self._open_bank(1 - ended.bank)
        self._keep_thresholds = False
        self._ended = _Ended(**vars(ended), end_ns=opened.start_ns, asked=asked)
        await self._write_ended()

    async def _open_bank(self, bank: int) -> _Open:
        sizes, thresholds = self._settings.sizes, self._next
        entry = window(
            bank,
            eval_packets=thresholds.eval,
            share=thresholds.share,
            least_packets=thresholds.packets,
            columns=sizes.cms_columns,
            bits=sizes.bloom_bits,
            cells=sizes.iblt_cells,
        )
        await self._session.open_window(entry)
        self._open = _Open(bank, time.time_ns(), thresholds, Sizes(**sizes.model_dump()))
        self._found = _Found()
        return self._open

    async def _write_ended(self) -> None:
        ended = self._ended
        assert ended is not None
        written = await self._in_thread(lambda: self._write(ended))
        self._ended = None
        self.windows.append(written)
        for answered in self._answered:
            if not answered.done():
                answered.set_result(written)
        self._answered = []
        await self._in_thread(lambda: self._bank(ended.bank).clear())

    def _write(self, ended: _Ended) -> FlowWindow:
        bank = self._bank(ended.bank)
        bank.wait_until_done()
        line = {
            "event": "window",
            "switch": self._session.name,
            "number": self._log.next_number(self._session.name),
            "bank": ended.bank,
            "asked": ended.asked,
            "start_ns": ended.start_ns,
            "end_ns": ended.end_ns,
            "packets": bank.packets(),
            "unparsed": bank.unparsed(),
            "thresholds": asdict(ended.thresholds),
            "iblt_cells": ended.sizes.iblt_cells,
            "iblt": bank.occupied(),
        }
        self._log.append(line)
        return flow_window(line, ended.sizes)

    def _first_thresholds(self) -> Thresholds:
        given = self._settings.thresholds
        return Thresholds(given.eval_packets, share_register(given.share), given.packets)

    def _adapted(self, ended: _Open) -> Thresholds:
        """From the window that is about to end: the next one needs them before it has ended."""
        bank = self._bank(ended.bank)
        target = self._settings.adaptive_flows
        return ended.thresholds.adapted(bank.packets(), bank.inserted(), target)

    # --- polls ---

    async def _poll(self) -> None:
        opened, found = self._open, self._found
        assert opened is not None
        took_s = await self._in_thread(lambda: self._look(opened, found))
        self._polls += 1
        self._longest_poll_s = max(self._longest_poll_s, took_s)

    def _look(self, opened: _Open, found: _Found) -> float:
        """Read the IBLT if flows were inserted since; gives the seconds that it took."""
        start_s = time.perf_counter()
        bank = self._bank(opened.bank)
        inserted = bank.inserted()
        if inserted != found.inserted or not found.settled:
            cells = Cells.empty(opened.sizes.iblt_cells)
            for place, (count, key, *sums) in enumerate(bank.iblt()[: opened.sizes.iblt_cells]):
                cells.set(place, (count, int.from_bytes(key, "big"), *sums))
            listed = listing(opened.sizes.iblt, cells, unpadded)
            # A flow that was being inserted while the registers were read is found the next time.
            found.settled = listed.complete or inserted == found.inserted
            found.inserted = inserted
            now_ns = time.time_ns()
            for flow in listed.flows:
                found.flows.setdefault(flow.key, now_ns)
        return time.perf_counter() - start_s

    # --- registers ---

    def _bank(self, number: int) -> Bank:
        if self._registers is None:
            namespace = self._thrift.namespace
            self._registers = Registers(Path(namespace) if namespace else None, self._thrift.port)
        return Bank(self._registers, number)

    def _disconnect(self) -> None:
        if self._registers is not None:
            self._registers.close()
            self._registers = None


def _opened(parameters: Mapping[str, int]) -> _Open:
    """What is in the table `window`."""
    return _Open(
        bank=parameters["active"],
        start_ns=0,
        thresholds=Thresholds(
            parameters["evaluate_from"], parameters["share"], parameters["least_packets"]
        ),
        sizes=Sizes(
            cms_columns=parameters["cms_columns"],
            bloom_bits=parameters["bloom_bits"],
            iblt_cells=parameters["iblt_cells"],
        ),
    )


def _described(flow: Flow) -> dict[str, Any]:
    return {
        "spi": flow.spi,
        "si": flow.si,
        "source_address": str(flow.src),
        "destination_address": str(flow.dst),
        "protocol": flow.proto,
        "source_port": flow.src_port,
        "destination_port": flow.dst_port,
    }
