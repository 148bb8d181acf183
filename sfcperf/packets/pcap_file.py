"""Captures of tcpdump, read as fast as Python can (pcap-savefile(5))."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from sfcperf.errors import MeasurementError, system_errors_as

HEADER_BYTES = 24
"""Before the first frame."""
LINKTYPE_ETHERNET = 1
_NS_PER_TICK = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}
"""Magic number -> resolution of the time stamps."""
_NS_PER_S = 1_000_000_000


def frames(path: Path, link_type: int = LINKTYPE_ETHERNET) -> Iterator[tuple[int, bytes]]:
    """Unix time [ns] and bytes of each frame. A last one that is not whole is left out: the
    capture was ended while it was written.

    Raises MeasurementError for anything but a pcap file of this link type.
    """
    with system_errors_as(MeasurementError, "not readable", where=path):
        content = path.read_bytes()
    order = next(
        (o for o in "<>" if Struct(f"{o}I").unpack(content[:4].ljust(4))[0] in _NS_PER_TICK), None
    )
    if order is None or len(content) < HEADER_BYTES:
        raise MeasurementError("not a pcap file", where=str(path))
    magic, link = Struct(f"{order}I16xI").unpack_from(content)
    if link != link_type:
        raise MeasurementError(f"a capture of link type {link}, not {link_type}", where=str(path))
    return _frames(content, Struct(f"{order}III4x"), _NS_PER_TICK[magic])


def _frames(content: bytes, record: Struct, ns_per_tick: int) -> Iterator[tuple[int, bytes]]:
    at = HEADER_BYTES
    while at + record.size <= len(content):
        seconds, ticks, kept = record.unpack_from(content, at)
        at += record.size
        if at + kept > len(content):
            return
        yield seconds * _NS_PER_S + ticks * ns_per_tick, content[at : at + kept]
        at += kept
