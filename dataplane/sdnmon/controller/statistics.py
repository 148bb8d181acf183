"""Statistics of a monitoring table: entries as arrays, not as objects (a table has a million)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfcperf.dataplane.sdnmon.controller.flows import reader
from sfcperf.dataplane.sdnmon.fields import Layout

_HEAD = struct.Struct("!HHHHIIQ")
_MORE = 1
_ADDED = 1
_WORD_BYTES = 4


@dataclass(frozen=True)
class StatisticsPart:
    """One message of a statistics reply."""

    entries: NDArray[Any]
    """Structured array with the fields of `entry_type`. It is a view of the message's bytes."""
    epoch: int
    """The epoch when the table was read, the same in all parts."""
    more: bool
    """Whether another part follows."""


def entry_type(key_bytes: int, slots: int) -> np.dtype[Any]:
    """Return the type of an entry in a message: `key`, `flags`, `packets` and `bytes` since the
    start, and `slots` with the shape (slots, 2): packets and bytes by epoch, oldest first. With
    0 slots there is no field `slots`."""
    head: list[Any] = [
        ("key", f"V{key_bytes}"),
        ("flags", ">u4"),
        ("packets", ">u8"),
        ("bytes", ">u8"),
    ]
    return np.dtype([*head, ("slots", ">u8", (slots, 2))] if slots else head)


def read_part(content: bytes) -> StatisticsPart:
    """Return the content of a STATISTICS_REPLY. Raises ValueError or struct.error if it is
    wrong."""
    flags, key_bytes, slots, _, count, _, epoch = _HEAD.unpack_from(content)
    if key_bytes == 0 or key_bytes % _WORD_BYTES:
        raise ValueError(f"keys of {key_bytes} bytes")
    kind = entry_type(key_bytes, slots)
    if len(content) != _HEAD.size + count * kind.itemsize:
        raise ValueError(f"{len(content)} bytes for {count} entries of {kind.itemsize}")
    entries = np.frombuffer(content, kind, count, _HEAD.size)
    return StatisticsPart(entries, epoch, bool(flags & _MORE))


@dataclass(frozen=True)
class Statistics:
    """The entries of a table at one time. All arrays have the same order; counts are unsigned,
    64 bits."""

    layout: Layout
    ratio: float
    """Sampling ratio when the entries were read."""
    interval_ms: float
    """Length of a slot, ΔT_u."""
    parts: Sequence[StatisticsPart]

    @property
    def epoch(self) -> int:
        """Epoch of the last slot."""
        return self.parts[-1].epoch

    @property
    def slots(self) -> int:
        """Number of slots of the counter buffers; 0 if they were not asked for."""
        kind = self.parts[-1].entries.dtype
        return int(kind["slots"].shape[0]) if "slots" in (kind.names or ()) else 0

    def __len__(self) -> int:
        return sum(len(part.entries) for part in self.parts)

    def _column(self, name: str) -> NDArray[Any]:
        """Return one value of each entry, from all parts."""
        return np.concatenate([part.entries[name] for part in self.parts])

    @property
    def keys(self) -> NDArray[Any]:
        """Keys of the entries as bytes (docs/reference/sdn-mon.md), shape (entries,)."""
        return self._column("key")

    @property
    def packets(self) -> NDArray[np.uint64]:
        """Packets of each entry since the start, shape (entries,)."""
        return self._column("packets").astype(np.uint64)

    @property
    def bytes(self) -> NDArray[np.uint64]:
        """Bytes of each entry since the start, shape (entries,)."""
        return self._column("bytes").astype(np.uint64)

    @property
    def added(self) -> NDArray[np.bool_]:
        """Whether the controller added the entry, shape (entries,)."""
        flags: NDArray[np.bool_] = self._column("flags") & _ADDED != 0
        return flags

    @property
    def intervals(self) -> NDArray[np.uint64]:
        """Packets and bytes by epoch, shape (entries, slots, 2), oldest first; the last slot is
        of `epoch`."""
        if not self.slots:
            return np.zeros((len(self), 0, 2), np.uint64)
        return self._column("slots").astype(np.uint64)

    def flows(self) -> Iterator[dict[str, Any]]:
        """Yield one entry after the other as a dictionary: `flow`, `packets`, `bytes`, `added`,
        and `intervals` as epoch, packets and bytes, the latest first, without intervals that
        have no packets."""
        flow_of = reader(self.layout)
        slots = self.slots
        for part in self.parts:
            columns = [part.entries[name].tolist() for name in ("key", "flags", "packets", "bytes")]
            buffers = part.entries["slots"].tolist() if slots else [()] * len(part.entries)
            for key, flags, packets, count, buffer in zip(*columns, buffers, strict=True):
                entry = {
                    "flow": flow_of(key),
                    "packets": packets,
                    "bytes": count,
                    "added": bool(flags & _ADDED),
                }
                if slots:
                    latest = enumerate(reversed(buffer))
                    entry["intervals"] = [
                        (self.epoch - ago, *each) for ago, each in latest if each[0]
                    ]
                yield entry
