"""Captures of Ethernet frames, with times in nanoseconds."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

_HEAD, _RECORD = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1), struct.Struct("<IIII")


def write_pcap(path: Path, frames: Iterable[tuple[int, bytes]]) -> None:
    """Frames with their times, ns."""
    with path.open("wb") as file:
        file.write(_HEAD)
        for time_ns, frame in frames:
            file.write(_RECORD.pack(*divmod(time_ns, 10**9), len(frame), len(frame)) + frame)
