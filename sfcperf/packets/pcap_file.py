"""Reads captures, pcap (draft-ietf-opsawg-pcap) and pcapng, as fast as Python can."""

from __future__ import annotations

from pathlib import Path
from struct import Struct

from sfcperf.errors import InputError, MeasurementError, SfcperfError, errors_as
from sfcperf.input_file import open_input
from sfcperf.packets import pcapng_file
from sfcperf.packets.capture_stream import LINKTYPE_ETHERNET, CaptureStream, Frames

HEADER_BYTES = 24
"""Length of the header of a pcap file, before the first frame."""
_MAGIC_BYTES = 4
_FORMATS = {
    Struct(f"{order}I").pack(magic): (order, ns_per_tick)
    for magic, ns_per_tick in ((0xA1B23C4D, 1), (0xA1B2C3D4, 1000))
    for order in "<>"
}
"""First bytes of a file -> its byte order, and nanoseconds per tick of its time stamps."""
_NS_PER_S = 1_000_000_000
_VERSION = (2, 4)
_LINK_TYPE, _HAS_FCS, _FCS_WORDS_AT, _FCS_WORD_BYTES = 0xFFFF, 1 << 26, 28, 2
"""Parts of the last word of the header: bits of the link type, the bit that says that frames have a
frame check sequence, the place of its length, and the unit of that length."""


def frames(path: Path) -> Frames:
    """Read the Ethernet frames of a user's capture. Raises InputError, which names the place: at
    once for a file that is no capture, in the course of reading for a damaged one, and at the end
    for one that ends within a packet."""
    return _begun(path, LINKTYPE_ETHERNET, InputError, may_be_cut=False)


def recorded(path: Path, link_type: int = LINKTYPE_ETHERNET) -> Frames:
    """Read the frames of a capture that a measurement made. A last frame that is not whole is left
    out, because the capture was ended while it was written. Raises MeasurementError for all else
    that is wrong."""
    return _begun(path, link_type, MeasurementError, may_be_cut=True)


def _begun(path: Path, link_type: int, kind: type[SfcperfError], *, may_be_cut: bool) -> Frames:
    """Return the frames of a file whose header has been read, so that a file that is no capture
    raises now and not at the first frame."""
    found = _read(path, link_type, kind, may_be_cut)
    next(found)
    return found


def _read(path: Path, link_type: int, kind: type[SfcperfError], may_be_cut: bool) -> Frames:
    """Give a first item that means nothing when the header has been read, then the frames. `_begun`
    takes the first item away."""
    with errors_as(kind, InputError):
        file = open_input(path, "the capture")
    with file:
        stream = CaptureStream(file, path, kind)
        found = _frames(stream, path, link_type, kind)
        yield 0, b""
        yield from found
        if not (may_be_cut or stream.ended):
            raise stream.damaged("the capture ends within a packet")


def _frames(stream: CaptureStream, path: Path, link_type: int, kind: type[SfcperfError]) -> Frames:
    """Read the header, which tells the format, and return the frames behind it."""
    magic = stream.data[:_MAGIC_BYTES] if stream.has(_MAGIC_BYTES) else b""
    if magic == pcapng_file.MAGIC:
        return pcapng_file.frames(stream, link_type)
    if magic not in _FORMATS or not stream.has(HEADER_BYTES):
        raise kind("not a capture", where=str(path), allowed="a pcap or pcapng file")
    order, ns_per_tick = _FORMATS[magic]
    *version, link = Struct(f"{order}4xHH12xI").unpack_from(stream.data)
    if tuple(version) != _VERSION:
        raise stream.damaged(f"version {version[0]}.{version[1]} of pcap", allowed="2.4")
    stream.check_link_type(link & _LINK_TYPE, link_type)
    stream.at = HEADER_BYTES
    fcs_bytes = _FCS_WORD_BYTES * (link >> _FCS_WORDS_AT) if link & _HAS_FCS else 0
    return _pcap(stream, Struct(f"{order}IIII"), ns_per_tick, fcs_bytes)


def _pcap(stream: CaptureStream, record: Struct, ns_per_tick: int, fcs_bytes: int) -> Frames:
    """Read the frames of a pcap file, up to a last one that is not whole. A frame check sequence of
    `fcs_bytes` is cut off, as far as it was captured."""
    unpack, head_bytes = record.unpack_from, record.size
    while stream.has(head_bytes):
        seconds, ticks, kept, whole = unpack(stream.data, stream.at)
        stream.check_size(kept)
        if not stream.has(head_bytes + kept):
            return
        begin = stream.at + head_bytes
        stream.at = begin + kept
        end = begin + min(kept, max(0, whole - fcs_bytes)) if fcs_bytes else stream.at
        yield seconds * _NS_PER_S + ticks * ns_per_tick, stream.data[begin:end]
