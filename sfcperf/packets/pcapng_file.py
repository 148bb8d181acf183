"""Reads the frames of pcapng files (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from sfcperf.packets.capture_stream import MOST_FRAME_BYTES, CaptureStream, Frames

MAGIC = b"\x0a\x0d\x0d\x0a"
"""Type of the block that begins a section, and so each file. It is the same in both byte orders."""
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 1, 2, 3, 6
"""Types of other blocks."""
_LEAST_BLOCK_BYTES = 12
_MOST_BLOCK_BYTES = MOST_FRAME_BYTES + (1 << 18)
"""Length of the longest block that is believed: the longest frame, with long comments to it."""
_BYTE_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_RESOLUTION, _OFFSET, _FCS_LENGTH = 9, 14, 13
"""Codes of options that interface blocks may have."""
_FCS_BYTES = {4: 4, 32: 4}
"""Value of the option _FCS_LENGTH -> bytes of the frame check sequence. The draft says that the
option is in bits, but has 4 as the example, so both 4 and 32 mean 4 bytes."""
_NS_PER_S = 1_000_000_000
_PACKET_BYTES = 20
"""Bytes before the frame in the body of a packet block."""


@dataclass
class _Interface:
    """What an interface block says of the frames of its interface."""

    link_type: int
    most_bytes: int
    """Most bytes of a frame that were kept; 0: all."""
    ticks_per_s: int = 1_000_000
    """Resolution of its time stamps."""
    offset_s: int = 0
    """Seconds to add to its time stamps."""
    fcs_bytes: int = 0
    """Length of the frame check sequence that frames end with."""

    def time_ns(self, ticks: int) -> int:
        """Return a time stamp of the interface, in its own ticks, as Unix time [ns]."""
        seconds, rest = divmod(ticks, self.ticks_per_s)
        return (self.offset_s + seconds) * _NS_PER_S + rest * _NS_PER_S // self.ticks_per_s


def frames(stream: CaptureStream, link_type: int) -> Frames:
    """Read the frames, which must all be of this link type. If the file ends within a block, the
    frames end before it. Raises an error of the stream's kind for a damaged file."""
    section = _Section(stream, link_type)
    for kind, body in section.blocks():
        if kind == _INTERFACE:
            section.add_interface(body)
        elif kind in (_PACKET, _OLD_PACKET):
            yield section.packet(kind, body)
        elif kind == _SIMPLE_PACKET:
            yield section.simple_packet(body)


class _Section:
    """Reads the blocks of a file, and keeps what the later ones need: the byte order and the
    interfaces of the current section."""

    def __init__(self, stream: CaptureStream, link_type: int) -> None:
        self._stream = stream
        self._link_type = link_type
        self._latest_ns = 0
        """Time of the latest packet that had one, Unix time."""
        self._begin("<")  # until the first section block says the byte order

    def _begin(self, order: str) -> None:
        """Begin a section in a byte order; it has no interfaces yet."""
        self._order = order
        self._interfaces: list[_Interface] = []
        # Type and length of a block; its length once more at its end.
        self._head = Struct(f"{order}II")
        self._length = Struct(f"{order}I")
        # Interface, both halves of the time, bytes that were kept, and bytes of the whole frame.
        self._packet_heads = {
            _PACKET: Struct(f"{order}IIIII"),
            _OLD_PACKET: Struct(f"{order}HxxIIII"),
        }

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Give the type and the body of each whole block. A section block changes the byte order
        before it is given."""
        stream = self._stream
        while stream.has(_LEAST_BLOCK_BYTES):
            if stream.data.startswith(MAGIC, stream.at):
                self._begin_as(stream.data[stream.at + 8 : stream.at + 12])
            kind, length = self._head.unpack_from(stream.data, stream.at)
            if length % 4 or not _LEAST_BLOCK_BYTES <= length <= _MOST_BLOCK_BYTES:
                raise stream.damaged(f"a block of {length} bytes")
            if not stream.has(length):
                return
            end = stream.at + length - self._length.size
            if self._length.unpack_from(stream.data, end)[0] != length:
                raise stream.damaged("a block whose two lengths differ")
            yield kind, stream.data[stream.at + self._head.size : end]
            # Only now, so that errors about this block name its place.
            stream.at += length

    def _begin_as(self, mark: bytes) -> None:
        """Begin a section whose byte order is told by its byte-order magic, `mark`."""
        if mark not in _BYTE_ORDERS:
            raise self._stream.damaged("a section of unknown byte order")
        self._begin(_BYTE_ORDERS[mark])

    def add_interface(self, body: bytes) -> None:
        """Read an interface block. Packets name interfaces by the order of their blocks."""
        if len(body) < 8:
            raise self._stream.damaged("an interface block that is too short")
        found = _Interface(*Struct(f"{self._order}HxxI").unpack_from(body))
        for code, value in self._options(body):
            if code == _RESOLUTION and len(value) == 1:
                power = value[0] & 0x7F
                found.ticks_per_s = (2 if value[0] & 0x80 else 10) ** power
            elif code == _OFFSET and len(value) == 8:
                found.offset_s = Struct(f"{self._order}q").unpack(value)[0]
            elif code == _FCS_LENGTH and len(value) == 1:
                found.fcs_bytes = _FCS_BYTES.get(value[0], 0)
        self._interfaces.append(found)

    def _options(self, body: bytes) -> Iterator[tuple[int, bytes]]:
        """Give code and value of each option in the body of an interface block. Options begin
        behind 8 bytes, and are padded to 4 bytes."""
        option, at = Struct(f"{self._order}HH"), 8
        while at + option.size <= len(body):
            code, length = option.unpack_from(body, at)
            if code == 0:
                return
            begin = at + option.size
            if begin + length > len(body):
                raise self._stream.damaged("an option that is longer than its block")
            yield code, body[begin : begin + length]
            at = begin + (length + 3) // 4 * 4

    def packet(self, kind: int, body: bytes) -> tuple[int, bytes]:
        """Return the Unix time [ns] and the frame of a packet block."""
        if len(body) < _PACKET_BYTES:
            raise self._stream.damaged("a packet block that is too short")
        number, high, low, kept, whole = self._packet_heads[kind].unpack_from(body)
        interface = self._interface(number)
        self._latest_ns = interface.time_ns(high << 32 | low)
        return self._latest_ns, self._frame(interface, body[_PACKET_BYTES:], kept, whole)

    def simple_packet(self, body: bytes) -> tuple[int, bytes]:
        """Return the time and the frame of a simple packet block. Such a block has no time; it gets
        that of the packet before it."""
        interface = self._interface(0)
        if len(body) < 4:
            raise self._stream.damaged("a packet block that is too short")
        whole = self._length.unpack_from(body)[0]
        kept = min(whole, interface.most_bytes or whole)
        if len(body) - 4 != (kept + 3) // 4 * 4:
            raise self._stream.damaged("a packet block of another length than its frame")
        return self._latest_ns, self._frame(interface, body[4:], kept, whole)

    def _interface(self, number: int) -> _Interface:
        """Return the interface that a packet names. Raises an error if there is none."""
        if number >= len(self._interfaces):
            raise self._stream.damaged("a packet of an unknown interface")
        return self._interfaces[number]

    def _frame(self, interface: _Interface, data: bytes, kept: int, whole: int) -> bytes:
        """Return a frame without padding and frame check sequence. `kept` bytes were captured of
        the `whole` that it had."""
        self._stream.check_link_type(interface.link_type, self._link_type)
        self._stream.check_size(kept)
        if kept > len(data):
            raise self._stream.damaged("a frame that is longer than its block")
        if interface.fcs_bytes:
            kept = min(kept, max(0, whole - interface.fcs_bytes))
        return data[:kept]
