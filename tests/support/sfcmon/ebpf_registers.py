"""All registers of a running sfc-sfcmon, read and written by the kernel's own interface."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.vnfs.sfcmon.settings import COUNTER_BITS, Sizes, Thresholds

_NR_BPF = 321
"""On x86-64."""
_LOOKUP, _UPDATE, _FD_BY_ID, _INFO_BY_FD = 1, 2, 14, 15
_NAME_AT, _NAME_BYTES = 24, 16
"""Of a map's name in struct bpf_map_info (linux/bpf.h)."""
_BANK = struct.Struct("<6I3I")
_CELL = struct.Struct("<II44sIQ")
_MOST = (1 << COUNTER_BITS) - 1
_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"))
    result = int(_libc.syscall(_NR_BPF, command, buffer, len(attributes)))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


class _Map:
    def __init__(self, fd: int, value_bytes: int) -> None:
        self.fd = fd
        self._value = ctypes.create_string_buffer(value_bytes)

    def read(self, key: int) -> bytes:
        self._call(_LOOKUP, key)
        return self._value.raw

    def write(self, key: int, value: bytes) -> None:
        self._value.raw = value
        self._call(_UPDATE, key)

    def _call(self, command: int, key: int) -> None:
        number = ctypes.c_uint32(key)
        addresses = ctypes.addressof(number), ctypes.addressof(self._value)
        _bpf(command, struct.pack("<IIQQQ", self.fd, 0, *addresses, 0))


class Registers:
    """Those of bank 0."""

    def __init__(self, pid: int, sizes: Sizes) -> None:
        self._sizes = sizes
        turns = 8 * _possible_cpus()
        sizes_by_name = {"cms": 8, "bloom": 8, "iblt": _CELL.size, ".bss": 76, "turns": turns}
        fds = _maps(pid)
        self._maps = {
            name: _Map(next(fd for full, fd in fds.items() if full.endswith(name)), bytes_)
            for name, bytes_ in sizes_by_name.items()
        }
        self._fds = fds.values()
        self._row = (sizes.cms_columns + 1) // 2

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)

    def set(self, thresholds: Thresholds, registers: Mapping[str, Any] | None) -> None:
        """Clear the bank, or set it to `registers`."""
        empty = {"packets": 0, "unparsed": [0] * 5, "cms": [], "bloom": [], "iblt": []}
        wanted = registers or empty
        limits = (thresholds.eval, thresholds.share, thresholds.packets)
        bank = _BANK.pack(wanted["packets"], *wanted["unparsed"], *limits)
        self._maps[".bss"].write(0, bank.ljust(76, b"\0"))
        self._set_counters(wanted["cms"])
        for word in range(-(-self._sizes.bloom_bits // 64)):
            value = sum(1 << bit % 64 for bit in wanted["bloom"] if bit // 64 == word)
            self._maps["bloom"].write(word, value.to_bytes(8, "little"))
        cells = {place: fields for place, *fields in wanted["iblt"]}
        for place in range(self._sizes.iblt_cells):
            count, key, checksum, packets, size = cells.get(place, (0, "", 0, 0, 0))
            self._maps["iblt"].write(
                place, _CELL.pack(count, checksum, bytes.fromhex(key), packets, size)
            )

    def _set_counters(self, wanted: Sequence[Sequence[int]]) -> None:
        values: dict[int, list[int]] = {}
        for row, column, value in wanted:
            values.setdefault(row * self._row + column // 2, [0, 0])[column % 2] = value
        for place in range(self._sizes.cms_rows * self._row):
            self._maps["cms"].write(place, struct.pack("<II", *values.get(place, (0, 0))))

    def frames(self) -> int:
        """How many the program has processed since its start."""
        turns = self._maps["turns"].read(0)
        return sum(struct.unpack(f"<{len(turns) // 8}Q", turns)) // 2

    def get(self) -> dict[str, Any]:
        """As the golden vectors have them."""
        packets, *unparsed = _BANK.unpack(self._maps[".bss"].read(0)[: _BANK.size])[:6]
        return {
            "packets": packets,
            "unparsed": list(unparsed),
            "cms": [
                [row, column, min(value, _MOST)]
                for row in range(self._sizes.cms_rows)
                for pair in range(self._row)
                for column, value in zip(
                    (2 * pair, 2 * pair + 1),
                    struct.unpack("<II", self._maps["cms"].read(row * self._row + pair)),
                    strict=True,
                )
                if value
            ],
            "bloom": [
                64 * word + bit
                for word in range(-(-self._sizes.bloom_bits // 64))
                for value in [int.from_bytes(self._maps["bloom"].read(word), "little")]
                for bit in range(64)
                if value >> bit & 1
            ],
            "iblt": [
                [place, count, key.hex(), checksum, packets, size]
                for place in range(self._sizes.iblt_cells)
                for count, checksum, key, packets, size in [
                    _CELL.unpack(self._maps["iblt"].read(place))
                ]
                if any((count, checksum, any(key), packets, size))
            ],
        }


def _maps(pid: int) -> dict[str, int]:
    """Name -> file descriptor of the maps that a process holds."""
    found = {}
    for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
        facts = dict(line.split(":\t", 1) for line in entry.read_text().splitlines() if "\t" in line)
        if "map_id" not in facts:
            continue
        fd = _bpf(_FD_BY_ID, struct.pack("<III", int(facts["map_id"]), 0, 0))
        info = ctypes.create_string_buffer(88)
        _bpf(_INFO_BY_FD, struct.pack("<IIQ", fd, len(info), ctypes.addressof(info)))
        name = info.raw[_NAME_AT : _NAME_AT + _NAME_BYTES].split(b"\0")[0].decode()
        found[name] = fd
    return found


def _possible_cpus() -> int:
    ranges = Path("/sys/devices/system/cpu/possible").read_text().strip().split(",")
    return max(int(part.split("-")[-1]) for part in ranges) + 1
