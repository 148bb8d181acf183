"""How much may be copied to a host: small VMs often have their files in memory."""

from __future__ import annotations

from dataclasses import dataclass

_MEMORY_LEFT_BYTES = 12 << 20
"""Kept free where files are in memory: the tools have to run as well."""

_IN_MEMORY = frozenset({"1021994", "858458f6"})
"""Types of file systems: tmpfs, ramfs; see statfs(2)."""


@dataclass(frozen=True)
class Room:
    """What is free."""

    memory_bytes: int
    disk_bytes: int | None
    """None: the file system has no limit of its own."""
    in_memory: bool
    """Whether the file system is in memory."""

    @classmethod
    def of(cls, memory: str, disk: str) -> Room:
        """From the line `MemAvailable` of /proc/meminfo, and free blocks, all blocks, bytes of a
        block and type of the file system, as `stat -f -c "%a %b %S %t"` prints them."""
        free, total, block_bytes, kind = disk.split()
        limit = int(free) * int(block_bytes) if int(total) > 0 else None
        in_memory = limit is None or kind.lower() in _IN_MEMORY
        return cls(int(memory.split()[1]) * 1024, limit, in_memory)

    @property
    def usable_bytes(self) -> int:
        """What may be filled."""
        limits = [] if self.disk_bytes is None else [self.disk_bytes]
        if self.in_memory:
            limits.append(self.memory_bytes - _MEMORY_LEFT_BYTES)
        return max(0, min(limits))
