"""Reads and clears the banks of a switch in a thread, for a program that must not wait for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sfcperf.dataplane.nsh.packet import unpadded
from sfcperf.sketches.iblt import Cells
from sfcperf.sketches.listing import listing
from sfcperf.vnfs.sfcmon.bmv2.banks import Bank
from sfcperf.vnfs.sfcmon.bmv2.registers import Registers
from sfcperf.vnfs.sfcmon.controller import model
from sfcperf.vnfs.sfcmon.controller.window import FoundFlows, OpenWindow
from sfcperf.vnfs.sfcmon.settings import Thresholds

T = TypeVar("T")


class BankAccess:
    """A connection by Thrift in a thread of its own. It is made when it is needed. All methods
    that read or write raise MeasurementError."""

    def __init__(self, name: str, thrift: model.ThriftAddress) -> None:
        self._thrift = thrift
        self._registers: Registers | None = None
        # Thrift gives one answer at a time, so one thread is enough.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"registers of {name}")

    async def clear(self, bank: int) -> None:
        """Set the registers of the idle bank to 0."""
        await self._do(lambda: self._bank(bank).clear())

    async def wait_and_clear(self, bank: int) -> None:
        """Wait until no packet updates a bank, then set its registers to 0."""

        def do() -> None:
            self._bank(bank).wait_until_done()
            self._bank(bank).clear()

        await self._do(do)

    async def read(self, bank: int) -> dict[str, Any]:
        """Wait until no packet updates a bank, then return what the line of its window contains."""

        def do() -> dict[str, Any]:
            ended = self._bank(bank)
            ended.wait_until_done()
            return {
                "packets": ended.packets(),
                "unparsed": ended.unparsed(),
                "iblt": ended.occupied(),
            }

        return await self._do(do)

    async def adapted(self, opened: OpenWindow, target: int) -> Thresholds:
        """Return the thresholds of the next window, computed from what the open one has just
        before its end."""

        def do() -> Thresholds:
            bank = self._bank(opened.bank)
            return opened.thresholds.adapted(bank.packets(), bank.inserted(), target)

        return await self._do(do)

    async def look(self, opened: OpenWindow, found: FoundFlows) -> float:
        """Read the IBLT of the open window into `found` if flows were inserted since the last
        time. Returns the seconds that it took."""
        return await self._do(lambda: self._look(opened, found))

    def _look(self, opened: OpenWindow, found: FoundFlows) -> float:
        start_s = time.perf_counter()
        bank, size = self._bank(opened.bank), opened.sizes.iblt_cells
        inserted = bank.inserted()
        if inserted != found.inserted or not found.settled:
            cells = Cells.empty(size)
            for place, (count, key, checksum) in enumerate(bank.inserted_keys()[:size]):
                cells.set(place, (count, int.from_bytes(key, "big"), checksum, 0, 0))
            listed = listing(opened.sizes.iblt, cells, unpadded)
            # A flow that is being inserted while the registers are read is found the next time.
            found.settled = listed.complete or inserted == found.inserted
            found.inserted = inserted
            for flow in listed.flows:
                found.add(flow.key)
        return time.perf_counter() - start_s

    # --- the connection ---

    async def disconnect(self) -> None:
        """End the connection. The next call makes a new one."""
        await self._do(self._disconnect)

    def end(self) -> None:
        """End the connection as soon as the thread has done its work."""
        self._thread.submit(self._disconnect)
        self._thread.shutdown(wait=False)

    def _bank(self, number: int) -> Bank:
        if self._registers is None:
            namespace = self._thrift.namespace
            self._registers = Registers(Path(namespace) if namespace else None, self._thrift.port)
        return Bank(self._registers, number)

    def _disconnect(self) -> None:
        registers, self._registers = self._registers, None
        if registers is not None:
            registers.close()

    async def _do(self, action: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)
