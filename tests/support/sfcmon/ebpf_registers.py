"""All registers of a running sfc-sfcmon, read and written by the kernel's own interface."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.dataplane.nsh.packet import KEY_BYTES
from sfcperf.vnfs.sfcmon.settings import COUNTER_BITS, Sizes, Thresholds

_NR_BPF = 321
"""On x86-64."""
_LOOKUP, _FD_BY_ID, _INFO_BY_FD = 1, 14, 15
_NAME_AT, _NAME_BYTES = 24, 16
"""Of a map's name in struct bpf_map_info (linux/bpf.h)."""
_BANK = struct.Struct("<6I3I")
_WORK = struct.Struct("<Q56x")
"""What a CPU counts, and its workspace (struct sfcmon_work)."""
_CELL = struct.Struct("<II44sIQ")
_MOST = (1 << COUNTER_BITS) - 1
_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"))
    result = int(_libc.syscall(_NR_BPF, command, buffer, len(attributes)))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


class Registers:
    """Those of bank 0."""

    def __init__(self, pid: int, sizes: Sizes) -> None:
        self._sizes = sizes
        self._fds = _maps(pid)
        self._row = (sizes.cms_columns + 1) // 2
        self._cells_of_cpu = 2 * sizes.iblt_cells  # of two banks
        self._bloom_bytes = -(-sizes.bloom_bits // 64) * 8
        self._bank = self._memory(".data.sfcmon", _BANK.size)
        self._cms = self._memory("cms", 8 * sizes.cms_rows * self._row)
        self._bloom = self._memory("bloom", self._bloom_bytes)
        self._iblt = self._memory("iblt", _CELL.size * self._cells_of_cpu * _possible_cpus())

    def close(self) -> None:
        for memory in (self._bank, self._cms, self._bloom, self._iblt):
            memory.close()
        for fd in self._fds.values():
            os.close(fd)

    def _memory(self, name: str, size_bytes: int) -> mmap.mmap:
        return mmap.mmap(self._fd(name), size_bytes)

    def _fd(self, name: str) -> int:
        return next(fd for full, fd in self._fds.items() if full.endswith(name))

    def set(self, thresholds: Thresholds, registers: Mapping[str, Any] | None) -> None:
        """Clear the bank, or set it to `registers`."""
        empty = {"packets": 0, "unparsed": [0] * 5, "cms": [], "bloom": [], "iblt": []}
        wanted = registers or empty
        limits = (thresholds.eval, thresholds.share, thresholds.packets)
        self._bank[: _BANK.size] = _BANK.pack(wanted["packets"], *wanted["unparsed"], *limits)
        for memory in (self._cms, self._bloom, self._iblt):
            memory[:] = bytes(len(memory))
        for row, column, value in wanted["cms"]:
            struct.pack_into("<I", self._cms, 4 * (2 * row * self._row + column), value)
        bits = sum(1 << bit for bit in wanted["bloom"])
        self._bloom[:] = bits.to_bytes(self._bloom_bytes, "little")
        for place, count, key, checksum, packets, size in wanted["iblt"]:
            cell = (count, checksum, bytes.fromhex(key), packets, size)
            _CELL.pack_into(self._iblt, _CELL.size * place, *cell)

    def frames(self) -> int:
        """How many the program has processed since its start."""
        return _processed(self._fd("work"))

    def _cell(self, place: int) -> tuple[int, int, bytes, int, int]:
        """The sum over the CPUs."""
        count = checksum = key = packets = size = 0
        for cpu in range(_possible_cpus()):
            at = _CELL.size * (cpu * self._cells_of_cpu + place)
            part = _CELL.unpack_from(self._iblt, at)
            count, packets, size = count + part[0], packets + part[3], size + part[4]
            checksum, key = checksum ^ part[1], key ^ int.from_bytes(part[2], "big")
        return (
            count % (1 << 32),
            checksum,
            key.to_bytes(KEY_BYTES, "big"),
            packets % (1 << 32),
            size % (1 << 64),
        )

    def get(self) -> dict[str, Any]:
        """As the golden vectors have them."""
        packets, *unparsed = _BANK.unpack(self._bank[: _BANK.size])[:6]
        counters = struct.unpack(f"<{len(self._cms) // 4}I", self._cms)
        bits = int.from_bytes(self._bloom, "little")
        cells = enumerate(self._cell(place) for place in range(self._sizes.iblt_cells))
        return {
            "packets": packets,
            "unparsed": list(unparsed),
            "cms": [
                [*divmod(place, 2 * self._row), min(value, _MOST)]
                for place, value in enumerate(counters)
                if value
            ],
            "bloom": [bit for bit in range(self._sizes.bloom_bits) if bits >> bit & 1],
            "iblt": [
                [place, count, key.hex(), checksum, packets, size]
                for place, (count, checksum, key, packets, size) in cells
                if any((count, checksum, any(key), packets, size))
            ],
        }


def processed(pid: int) -> int:
    """Frames that a tool has monitored since its start."""
    fds = _maps(pid)
    try:
        return _processed(next(fd for name, fd in fds.items() if name.endswith("work")))
    finally:
        for fd in fds.values():
            os.close(fd)


def _processed(work_fd: int) -> int:
    work = ctypes.create_string_buffer(_WORK.size * _possible_cpus())
    key = ctypes.c_uint32(0)
    addresses = ctypes.addressof(key), ctypes.addressof(work)
    _bpf(_LOOKUP, struct.pack("<IIQQQ", work_fd, 0, *addresses, 0))
    return sum(turns for (turns,) in _WORK.iter_unpack(work.raw)) // 2


def _maps(pid: int) -> dict[str, int]:
    """Name -> file descriptor of the maps that a process holds."""
    found = {}
    for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
        facts = dict(
            line.split(":\t", 1) for line in entry.read_text().splitlines() if "\t" in line
        )
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
