"""The registers of a switch's banks, for a program that must not wait for them."""

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
    """Reads and clears a switch's banks by a Thrift connection in a thread of its own. The
    connection is made when it is needed. All that reads or writes raises MeasurementError."""

    def __init__(self, name: str, thrift: model.ThriftAddress, socket: Path | None = None) -> None:
        """`socket`: a Unix socket that leads to Thrift; None: it is where `thrift` says."""
        self._thrift = thrift
        self._socket = socket
        self._registers: Registers | None = None
        # Thrift has one answer at a time.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"registers of {name}")

    async def clear(self, bank: int) -> None:
        """Set the idle bank to 0."""
        await self._do(lambda: self._bank(bank).clear())

    async def wait_and_clear(self, bank: int) -> None:
        """Set a bank to 0 that packets may still update, once they are done."""

        def do() -> None:
            self._bank(bank).wait_until_done()
            self._bank(bank).clear()

        await self._do(do)

    async def read(self, bank: int) -> dict[str, Any]:
        """Return the registers of a bank that the line of its window has: `packets`, `unparsed` and
        `iblt`. Waits until no packet updates the bank any more."""

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
        """Return the thresholds of the next window, which is to report about `target` flows, from
        what the open one has counted. Call it just before that ends."""

        def do() -> Thresholds:
            bank = self._bank(opened.bank)
            return opened.thresholds.adapted(bank.packets(), bank.inserted(), target)

        return await self._do(do)

    async def look(self, opened: OpenWindow, found: FoundFlows) -> float:
        """Read the IBLT of the open window if flows were inserted since it was last read, and add
        the flows in it to `found`. Return the seconds that this took."""
        return await self._do(lambda: self._look(opened, found))

    def _look(self, opened: OpenWindow, found: FoundFlows) -> float:
        """Do what `look` says, in the connection's thread. The IBLT is also read if the last
        reading may have missed a flow."""
        start_s = time.perf_counter()
        bank, size = self._bank(opened.bank), opened.sizes.iblt_cells
        inserted = bank.inserted()
        if inserted != found.inserted or not found.settled:
            cells = Cells.empty(size)
            for place, (count, key, checksum) in enumerate(bank.inserted_keys()[:size]):
                cells.set(place, (count, int.from_bytes(key, "big"), checksum, 0, 0))
            listed = listing(opened.sizes.iblt, cells, unpadded)
            # A flow that was being inserted while the registers were read makes the listing
            # incomplete. Read again then; if the number of flows is still the same, they cannot be
            # listed.
            found.settled = listed.complete or inserted == found.inserted
            found.inserted = inserted
            for flow in listed.flows:
                found.add(flow.key)
        return time.perf_counter() - start_s

    # --- the connection ---

    async def disconnect(self) -> None:
        """Close the connection. The next call connects anew."""
        await self._do(self._disconnect)

    def end(self) -> None:
        """Disconnect as soon as the thread is done."""
        self._thread.submit(self._disconnect)
        self._thread.shutdown(wait=False)

    def _bank(self, number: int) -> Bank:
        """Return a bank, and connect if there is no connection. Only for the connection's
        thread."""
        if self._registers is None:
            namespace = None if self._thrift.namespace is None else Path(self._thrift.namespace)
            self._registers = Registers(namespace, self._thrift.port, socket=self._socket)
        return Bank(self._registers, number)

    def _disconnect(self) -> None:
        registers, self._registers = self._registers, None
        if registers is not None:
            registers.close()

    async def _do(self, action: Callable[[], T]) -> T:
        """Call `action` in the connection's thread, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)
