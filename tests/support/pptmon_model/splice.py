"""Bytes put into a frame or taken out, lengths and checksums around them following.

Checksums change by difference, so that one that was wrong stays as wrong as it was.
"""

from __future__ import annotations

from support.pptmon_model.checksum import adjust
from support.pptmon_model.errors import FormatError
from support.pptmon_model.layers import Kind, Layer

_MAX_TCP_BYTES = 60
_MAX_NSH_WORDS = 0x3F
_CHECKSUM_AT = {Kind.IPV4: 10, Kind.TCP: 16, Kind.UDP: 6}


def splice(frame: bytes, layers: tuple[Layer, ...], start: int, end: int, new: bytes) -> bytes:
    """The frame with `new` instead of [start, end).

    UDP as the last of `layers` does not grow: what goes behind its data is surplus (RFC 9868).
    Raises FormatError `room` when a length cannot say it.
    """
    growth = len(new) - (end - start)
    data = bytearray(frame[:start] + new + frame[end:])
    around = [layer for layer in layers if layer.start < start <= layer.end]
    if around[-1] is layers[-1] and around[-1].kind is Kind.UDP:
        del around[-1]
    for layer in around:
        _grow(data, layer, start, growth)
    # Innermost first: the checksum of a tunnel covers those inside it.
    for layer in reversed(around):
        if layer.kind in _CHECKSUM_AT:
            _follow(frame, data, layer, growth)
    return bytes(data)


def _grow(data: bytearray, layer: Layer, at: int, growth: int) -> None:
    """The length that a header says."""
    if layer.kind is Kind.TCP:
        size = (data[layer.start + 12] >> 4) * 4 + growth
        if size > _MAX_TCP_BYTES:
            raise FormatError("room", f"TCP's header would have {size} bytes")
        data[layer.start + 12] = size // 4 << 4 | data[layer.start + 12] & 0xF
    elif layer.kind is Kind.NSH and at <= layer.payload:
        words = (data[layer.start + 1] & _MAX_NSH_WORDS) + growth // 4
        if words > _MAX_NSH_WORDS:
            raise FormatError("room", f"NSH would have {words * 4} bytes")
        data[layer.start + 1] = data[layer.start + 1] & 0xC0 | words
    elif layer.kind in (Kind.IPV4, Kind.IPV6, Kind.UDP):
        field = layer.start + (2 if layer.kind is Kind.IPV4 else 4)
        length = int.from_bytes(data[field : field + 2], "big") + growth
        if not 0 <= length <= 0xFFFF:
            raise FormatError("room", f"{layer.kind.value} would have {length} bytes")
        data[field : field + 2] = length.to_bytes(2, "big")


def _follow(frame: bytes, data: bytearray, layer: Layer, growth: int) -> None:
    """The checksum of a header, by the difference of what it covers."""
    at = layer.start + _CHECKSUM_AT[layer.kind]
    before = int.from_bytes(frame[at : at + 2], "big")
    if layer.kind is Kind.UDP and before == 0:
        return
    # The pseudo header: of it, the length alone changes.
    old_end = layer.payload if layer.kind is Kind.IPV4 else layer.end
    new_end = old_end if layer.kind is Kind.IPV4 else old_end + growth
    after = adjust(
        before,
        _covered(frame, layer.start, old_end, at),
        _covered(bytes(data), layer.start, new_end, at),
    )
    if layer.kind is Kind.UDP:
        after = after or 0xFFFF
    data[at : at + 2] = after.to_bytes(2, "big")


def _covered(frame: bytes, start: int, end: int, checksum_at: int) -> bytes:
    length = (end - start).to_bytes(2, "big")
    return length + frame[start:checksum_at] + b"\0\0" + frame[checksum_at + 2 : end]
