"""Windows of a switch on bmv2, for each of its programs.

A window is given as sfc-sfcmon prints it: `end_ns`, `packets`, `unparsed`; of sketches `thresholds`
and `iblt` (cells that are not 0); of the table `flows` (FlowID2, packets, bytes) and `untracked`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sfcperf.dataplane.nsh.packet import KEY_BYTES, Flow
from sfcperf.vnfs.sfcmon.bmv2.banks import UNPARSED_REASONS, Bank, window
from sfcperf.vnfs.sfcmon.bmv2.reading import read
from sfcperf.vnfs.sfcmon.entries import entries
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds

if TYPE_CHECKING:
    from finsy import P4TableEntry, Switch

    from sfcperf.vnfs.sfcmon.bmv2.registers import Registers

_VERSION_AT, _ADDRESSES_AT = 5, 12
"""Places of the IP version and of the addresses in FlowID2, bytes."""
_ENTRIES_AT_ONCE = 1000
"""Entries in one message of P4Runtime, which may not be larger than 4 MiB."""


class Windows(Protocol):
    """The windows of time over which a switch counts flows; one is open at any time.

    Methods raise MeasurementError, and what finsy raises."""

    async def begin(self) -> int:
        """Open the first window, and return the time when it was opened (Unix time, ns)."""

    async def end(self) -> dict[str, Any] | None:
        """End the open window and open the next. Return the one that ended; None if nothing is
        monitored."""


class NoWindows:
    """Stands in for windows where the program does not monitor."""

    async def begin(self) -> int:
        """Return the Unix time (ns): there is no window to open."""
        return time.time_ns()

    async def end(self) -> None:
        """Return None: nothing is monitored."""


class SketchWindows:
    """Windows of the program with sketches, in its two banks in turn. The idle bank is always
    empty."""

    def __init__(
        self,
        switch: Switch,
        registers: Registers,
        thresholds: Thresholds,
        sizes: Sizes,
        adaptive_flows: int,
    ) -> None:
        """`adaptive_flows` 0: thresholds stay. The registers are those of a new switch."""
        self._switch = switch
        self._banks = [Bank(registers, number) for number in (0, 1)]
        self._thresholds = thresholds
        self._sizes = sizes
        self._adaptive_flows = adaptive_flows
        self._open = 0

    async def begin(self) -> int:
        """Have the switch count in the first bank, and return the Unix time (ns)."""
        return await self._begin(self._open)

    async def end(self) -> dict[str, Any]:
        """Adapt the thresholds if `adaptive_flows` is set, have the switch count in the other bank,
        then read the bank of the window that ended, and clear it. Return that window."""
        bank, thresholds = self._banks[self._open], self._thresholds
        if self._adaptive_flows:
            # They follow from what the open window has counted until now, because the next one
            # needs them before this one has ended.
            self._thresholds = thresholds.adapted(
                bank.packets(), bank.inserted(), self._adaptive_flows
            )
        self._open = 1 - self._open
        end_ns = await self._begin(self._open)
        bank.wait_until_done()
        ended = {
            "end_ns": end_ns,
            "packets": bank.packets(),
            "unparsed": bank.unparsed(),
            "thresholds": asdict(thresholds),
            "iblt": bank.occupied(),
        }
        bank.clear()
        return ended

    async def _begin(self, bank: int) -> int:
        """Have the switch count in this bank, with the thresholds and sizes of the next window;
        return the Unix time (ns)."""
        opened = window(
            bank,
            eval_packets=self._thresholds.eval,
            share=self._thresholds.share,
            least_packets=self._thresholds.packets,
            columns=self._sizes.cms_columns,
            bits=self._sizes.bloom_bits,
            cells=self._sizes.iblt_cells,
        )
        await self._switch.modify([opened])
        return time.time_ns()


class TableWindows:
    """Windows of the program with a table. Its counters go on counting: a window is what they rose
    by, so that each packet is in one."""

    def __init__(
        self, switch: Switch, table_entries: Sequence[Mapping[str, Any]], overhead_bytes: int
    ) -> None:
        """`table_entries`: the knob of this name. `overhead_bytes`: what a frame has in front of
        its IP packet, which is subtracted because counters of bmv2 count the bytes of frames."""
        self._switch = switch
        self._flows = [flow for each in entries(table_entries) for flow in each.flows()]
        self._overhead_bytes = overhead_bytes
        # The counters of a new switch are 0.
        self._before = _Totals({}, [0] * UNPARSED_REASONS, 0)

    async def begin(self) -> int:
        """Insert an entry for each flow into the switch's table, and return the Unix time (ns)."""
        for start in range(0, len(self._flows), _ENTRIES_AT_ONCE):
            some = self._flows[start : start + _ENTRIES_AT_ONCE]
            await self._switch.insert([_entry(flow) for flow in some])
        return time.time_ns()

    async def end(self) -> dict[str, Any]:
        """Read all counters and return by how much they rose since the last reading; bytes are
        those of IP packets."""
        now, before = await self._count(), self._before
        end_ns = time.time_ns()
        flows: list[tuple[str, int, int]] = []
        for key, (packets, frame_bytes) in now.flows.items():
            packets_before, bytes_before = before.flows.get(key, (0, 0))
            if new := packets - packets_before:
                volume = frame_bytes - bytes_before - new * self._overhead_bytes
                flows.append((key.ljust(KEY_BYTES, b"\0").hex(), new, volume))
        untracked = now.untracked - before.untracked
        self._before = now
        return {
            "end_ns": end_ns,
            "packets": sum(flow[1] for flow in flows) + untracked,
            "unparsed": [
                more - less for more, less in zip(now.unparsed, before.unparsed, strict=True)
            ],
            "untracked": untracked,
            "flows": flows,
        }

    async def _count(self) -> _Totals:
        """Read all counters of the table's program."""
        from finsy import P4CounterEntry, P4DirectCounterEntry

        flows = {
            _key(counter.table_entry): (counter.packet_count, counter.byte_count)
            for counter in await read(self._switch, P4DirectCounterEntry("flow_counters"))
            if counter.table_entry is not None
        }
        unparsed = await read(self._switch, P4CounterEntry("unparsed"))
        untracked = await read(self._switch, P4CounterEntry("untracked"))
        return _Totals(
            flows,
            [cell.packet_count for cell in unparsed],
            sum(cell.packet_count for cell in untracked),
        )


@dataclass(frozen=True)
class _Totals:
    """What the switch has counted since its start."""

    flows: Mapping[bytes, tuple[int, int]]
    """FlowID2 -> packets, bytes of frames."""
    unparsed: Sequence[int]
    """Frames that were not monitored, by reason."""
    untracked: int
    """Packets of flows without an entry."""


def _entry(flow: Flow) -> P4TableEntry:
    """Return the table's entry for a flow, whose key is the flow's FlowID2 in parts."""
    from finsy import Action, Match, P4TableEntry

    key = flow.flow_id_2
    half = (len(key) - _ADDRESSES_AT) // 2
    names = ("path", "kind", "ports")
    words = {name: int.from_bytes(key[4 * i : 4 * i + 4], "big") for i, name in enumerate(names)}
    addresses = {
        "source": int.from_bytes(key[_ADDRESSES_AT : _ADDRESSES_AT + half], "big"),
        "destination": int.from_bytes(key[_ADDRESSES_AT + half :], "big"),
    }
    return P4TableEntry("flows", match=Match(**words, **addresses), action=Action("count"))


def _key(entry: P4TableEntry) -> bytes:
    """Return the FlowID2 of an entry."""
    match: Mapping[str, Any] = entry.match or {}
    words = b"".join(int(match[name]).to_bytes(4, "big") for name in ("path", "kind", "ports"))
    size = 4 if words[_VERSION_AT] == 4 else 16
    ends = (int(match[name]).to_bytes(size, "big") for name in ("source", "destination"))
    return words + b"".join(ends)
