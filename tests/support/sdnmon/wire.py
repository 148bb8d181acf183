"""SDN-Mon's messages from the side of the switch (docs/reference/sdn-mon-messages.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from sfcperf.dataplane.sdnmon.controller.messages import MODES, TOTALS, Status
from sfcperf.dataplane.sdnmon.fields import FIELDS, Layout

EXPERIMENTER = 0x004E534D


def _masks(layout: Layout) -> bytes:
    return b"".join(
        bytes([number, field.bytes]) + layout.masks[field.name].to_bytes(field.bytes)
        for number, field in enumerate(FIELDS)
        if field.name in layout.masks
    )


def status(found: Status) -> bytes:
    """The content of STATUS_REPLY."""
    head = struct.pack(
        "!BBHIQQIIIIIHH",
        1,
        MODES.index(found.mode),
        found.counter_buffer_size,
        found.query_interval_ms,
        int(found.ratio * (1 << 32)),
        *(found.epoch, found.capacity, found.limit, found.threshold, found.entries),
        *(found.notifications, len(found.ports), len(found.layout.masks)),
    )
    totals = struct.pack("!11Q", *(found.totals[name] for name in TOTALS))
    ports = [
        struct.pack("!II16s", number, 0, name.encode()) for name, number in found.ports.items()
    ]
    return head + totals + _masks(found.layout) + b"".join(ports)


def features(on: bool = False, version: int = 1) -> bytes:
    """The content of FEATURES_REPLY of an agent that knows all fields."""
    fields = (1 << len(FIELDS)) - 1 & ~(1 << 13)
    return struct.pack("!BBHIII", version, on, 64, 1_000_000, fields, 0)


Entry = tuple[bytes, int, int, int, Sequence[tuple[int, int]]]
"""Key, flags, packets, bytes, and packets and bytes by slot."""


def statistics(
    entries: Iterable[Entry], key_bytes: int, slots: int, epoch: int, more: bool
) -> bytes:
    """The content of STATISTICS_REPLY."""
    packed = []
    for key, flags, packets, count, buffer in entries:
        numbers: list[Any] = [number for pair in buffer for number in pair]
        packed.append(key + struct.pack(f"!IQQ{len(numbers)}Q", flags, packets, count, *numbers))
    head = struct.pack("!HHHHIIQ", more, key_bytes, slots, 0, len(packed), 0, epoch)
    return head + b"".join(packed)
