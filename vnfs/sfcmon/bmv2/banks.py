"""The two banks of SFCMon in a bmv2 switch: open a window, wait for its end, read, clear.

docs/reference/sfcmon.md says what the registers mean. P4Runtime opens windows (`window`), because a
bank and its settings are the default action of a table; Thrift reads and writes the registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfcperf import retry
from sfcperf.errors import InputError, MeasurementError
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.programs import registers as registers_of
from sfcperf.vnfs.sfcmon.bmv2.registers import Registers

if TYPE_CHECKING:
    from finsy import P4TableEntry

CMS_ROWS, BLOOM_HASHES, IBLT_HASHES = 5, 4, 3
"""Numbers of rows and hash functions, which are fixed in the program."""
UNPARSED_REASONS = 5
"""Reasons for which a packet is not monitored (`Reason` of dataplane/nsh/frame.py)."""
KEY_WORDS = 11
"""Words of 4 bytes in the key field of a cell: the switch has a register for each."""
_INSERTED = ("count", "checksum", *(f"key{word}" for word in range(KEY_WORDS)))
_MONITOR = "Switch.monitor"
_DONE_TIMEOUT_S = 5.0
_POLL_S = 0.0005


def most_sizes() -> dict[str, int]:
    """Return for how many columns of the CMS, bits of the Bloom filter and cells of the IBLT the
    program has room."""
    cells = registers_of(Program.SKETCHES)
    return {
        "columns": cells[f"{_MONITOR}.cms_bank0.cms"] // CMS_ROWS,
        "bits": cells[f"{_MONITOR}.flow_bank0.bloom"],
        "cells": cells[f"{_MONITOR}.flow_bank0.iblt_count"],
    }


def window(
    bank: int,
    *,
    eval_packets: int,
    share: int,
    least_packets: int,
    columns: int = 5437,
    bits: int = 16384,
    cells: int = 300,
) -> P4TableEntry:
    """Return the table entry that opens a window; it is written as a modification by P4Runtime.

    Packets that arrive afterwards update this bank (0 or 1), with these thresholds (Threshold_Eval;
    share of the packets in units of 2^-32; packets) and sizes. Raises InputError if a size exceeds
    the registers.
    """
    from finsy import P4TableAction, P4TableEntry

    for name, value, least in (("columns", columns, 1), ("bits", bits, 1), ("cells", cells, 3)):
        if not least <= value <= (most := most_sizes()[name]):
            raise InputError(f"{name} is {value}", allowed=f"{least} to {most}")
    action = P4TableAction(
        "open",
        active=bank,
        evaluate_from=eval_packets,
        share=share,
        least_packets=least_packets,
        cms_columns=columns,
        bloom_bits=bits,
        iblt_cells=cells,
    )
    return P4TableEntry("window", action=action, is_default_action=True)


class Bank:
    """The registers of bank 0 or 1. Methods raise MeasurementError if the switch does not
    answer."""

    def __init__(self, registers: Registers, number: int) -> None:
        self._registers = registers
        self._number = number

    def wait_until_done(self) -> None:
        """Wait until the packets that began to update this bank are done, after the other one was
        opened. Raises MeasurementError if they are not after 5 s."""

        def done() -> bool:
            # `finished` is read first, so that a packet which finishes in between is seen as
            # unfinished.
            finished = self._registers.read(f"{_MONITOR}.finished", self._number)
            return finished == self._registers.read(f"{_MONITOR}.begun", self._number)

        if not retry.until(done, timeout_s=_DONE_TIMEOUT_S, period_s=_POLL_S):
            raise MeasurementError(f"packets still update bank {self._number}: is it the open one?")

    def packets(self) -> int:
        """Return how many packets were monitored."""
        return self._registers.read(f"{_MONITOR}.packets", self._number)

    def unparsed(self) -> list[int]:
        """Return how many packets were not monitored, by reason. Both banks have their cells in the
        same register."""
        start = self._number * UNPARSED_REASONS
        cells = self._registers.read_all(f"{_MONITOR}.unparsed")
        return list(cells[start : start + UNPARSED_REASONS])

    def cms(self) -> list[list[int]]:
        """Return the counters of the CMS, by row and column; as many columns as there is room
        for."""
        cells = self._registers.read_all(self._name("cms", "cms"))
        columns = len(cells) // CMS_ROWS
        return [list(cells[row * columns : (row + 1) * columns]) for row in range(CMS_ROWS)]

    def bloom(self) -> list[int]:
        """Return the indices of the bits that are set in the Bloom filter."""
        bits = self._registers.read_all(self._name("flow", "bloom"))
        return [index for index, bit in enumerate(bits) if bit]

    def iblt(self) -> list[tuple[int, bytes, int, int, int]]:
        """Return the cells of the IBLT: count, key_sum, checksum, packets, bytes; as many as there
        is room for."""
        *inserted, packets, high, low = self._iblt_fields(
            (*_INSERTED, "packets", "bytes_high", "bytes_low")
        )
        volumes = (most << 32 | least for most, least in zip(high, low, strict=True))
        cells = zip(_cells(inserted), packets, volumes, strict=True)
        return [(*cell, packets, volume) for cell, packets, volume in cells]

    def inserted_keys(self) -> list[tuple[int, bytes, int]]:
        """Return count, key_sum and checksum of the cells of the IBLT. That is a fifth less to read
        than `iblt`."""
        return _cells(self._iblt_fields(_INSERTED))

    def contents(self) -> dict[str, Any]:
        """Return all registers, sparsely, as golden vectors have them."""
        return {
            "packets": self.packets(),
            "unparsed": self.unparsed(),
            "cms": [
                [row, column, value]
                for row, cells in enumerate(self.cms())
                for column, value in enumerate(cells)
                if value
            ],
            "bloom": self.bloom(),
            "iblt": self.occupied(),
        }

    def occupied(self) -> list[list[Any]]:
        """Return the cells of the IBLT that are not 0, as golden vectors have them."""
        return [
            [index, cell[0], cell[1].hex(), *cell[2:]]
            for index, cell in enumerate(self.iblt())
            if cell[0] or any(cell[1]) or any(cell[2:])
        ]

    def inserted(self) -> int:
        """Return how many flows are in the IBLT, each of which is counted in IBLT_HASHES cells."""
        return sum(self._iblt_field("count")) // IBLT_HASHES

    def clear(self) -> None:
        """Set all registers to 0, except `begun` and `finished`, which say whether packets are
        done. The bank must be the idle one."""
        first = self._number * UNPARSED_REASONS
        self._registers.write(f"{_MONITOR}.packets", self._number, 0)
        self._registers.fill(f"{_MONITOR}.unparsed", first, first + UNPARSED_REASONS, 0)
        self._registers.reset_several(self._own_registers())

    def load(self, contents: Mapping[str, Any]) -> None:
        """Set all registers to what `contents` gave."""
        self.clear()
        self._registers.write(f"{_MONITOR}.packets", self._number, contents["packets"])
        for reason, count in enumerate(contents["unparsed"]):
            cell = self._number * UNPARSED_REASONS + reason
            self._registers.write(f"{_MONITOR}.unparsed", cell, count)
        columns = most_sizes()["columns"]
        for row, column, value in contents["cms"]:
            self._registers.write(self._name("cms", "cms"), row * columns + column, value)
        for index in contents["bloom"]:
            self._registers.write(self._name("flow", "bloom"), index, 1)
        for index, count, key, checksum, packets, volume in contents["iblt"]:
            fields = {"count": count, "checksum": checksum, "packets": packets}
            fields |= {"bytes_high": volume >> 32, "bytes_low": volume & 0xFFFFFFFF}
            for word in range(KEY_WORDS):
                fields[f"key{word}"] = int(key[8 * word : 8 * word + 8], 16)
            for field, value in fields.items():
                self._registers.write(self._name("flow", f"iblt_{field}"), index, value)

    def _name(self, part: str, register: str) -> str:
        """Return the full name of a register of this bank. `part`: `cms` or `flow`."""
        return f"{_MONITOR}.{part}_bank{self._number}.{register}"

    def _own_registers(self) -> list[str]:
        """Return the names of the registers that this bank does not share with the other one."""
        own = (f"{_MONITOR}.cms_bank{self._number}.", f"{_MONITOR}.flow_bank{self._number}.")
        return [name for name in registers_of(Program.SKETCHES) if name.startswith(own)]

    def _iblt_fields(self, fields: Sequence[str]) -> list[Sequence[int]]:
        """Read several fields of the IBLT: return for each field its values in all cells."""
        names = [self._name("flow", f"iblt_{field}") for field in fields]
        return self._registers.read_several(names)

    def _iblt_field(self, field: str) -> list[int]:
        """Read one field of the IBLT: return its values in all cells."""
        return list(self._registers.read_all(self._name("flow", f"iblt_{field}")))


def _cells(inserted: Sequence[Sequence[int]]) -> list[tuple[int, bytes, int]]:
    """Return count, key_sum and checksum of each cell, from the registers `_INSERTED`."""
    count, checksum, *words = inserted
    keys = (b"".join(word.to_bytes(4, "big") for word in key) for key in zip(*words, strict=True))
    return list(zip(count, keys, checksum, strict=True))
