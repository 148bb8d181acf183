"""Headers of PPTMon in whole frames: put in, read, taken out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sfcperf.dataplane.nsh import Nsh, NshError
from support.pptmon_model import tcp_options
from support.pptmon_model.checksum import ones_complement_sum
from support.pptmon_model.errors import FormatError
from support.pptmon_model.format import UDP_KIND, Format, Header, decode_option, encode_option
from support.pptmon_model.layers import Kind, Layer, has_metadata, walk
from support.pptmon_model.nsh_context import decode_contexts, encode_contexts, is_ours
from support.pptmon_model.splice import splice

_OCS_BYTES = 2


class Carrier(Enum):
    """Where a header travels."""

    L4 = "l4"
    NSH = "nsh"


@dataclass(frozen=True)
class Found:
    """A header in a frame."""

    header: Header
    carrier: Carrier
    format: Format | None
    """None in NSH."""
    start: int
    """Where what PPTMon added starts: with UDP, its trailer, with OCS and pad byte."""
    end: int


def add(frame: bytes, header: Header, layout: Format, carrier: Carrier = Carrier.L4) -> bytes:
    """The frame with a header: in TCP before the other options, in UDP behind the data.

    Raises FormatError: `room`, `unsupported` (no TCP, UDP, or NSH of MD type 2; a surplus area is
    already there; it carries a header), or what `walk` raises.
    """
    layers = walk(frame)
    if read_layers(frame, layers) is not None:
        raise FormatError("unsupported", "the packet carries a header already")
    if carrier is Carrier.NSH:
        at = _innermost_nsh(frame, layers).start + 8
        new = b"".join(context.encode() for context in encode_contexts(header))
        return splice(frame, layers, at, at, new)
    last = layers[-1]
    if last.kind is Kind.TCP:
        at = last.start + 20
        return splice(frame, layers, at, at, encode_option(header, layout))
    if last.kind is Kind.UDP:
        if last.end != layers[-2].end:
            raise FormatError("unsupported", "UDP has a surplus area already")
        trailer = _trailer(header, layout, odd=(last.end - last.start) % 2 == 1)
        return splice(frame, layers, last.end, last.end, trailer)
    raise FormatError("unsupported", f"nothing to carry it in {last.kind.value}")


def read(frame: bytes) -> Found | None:
    """The header that a frame carries, or None.

    Raises FormatError: `malformed`, `checksum`, or what `walk` raises.
    """
    return read_layers(frame, walk(frame))


def read_layers(frame: bytes, layers: tuple[Layer, ...]) -> Found | None:
    """As `read`, for a frame whose layers are known."""
    for layer in layers:
        if layer.kind is Kind.NSH and (found := _read_nsh(frame, layer)) is not None:
            return found
    last = layers[-1]
    if last.kind is Kind.TCP:
        return _read_tcp(frame, last)
    if last.kind is Kind.UDP:
        return _read_udp(frame, last, layers[-2].end)
    return None


def strip(frame: bytes) -> bytes:
    """The frame as it was before `add`. Raises FormatError `absent` when it carries no header."""
    layers = walk(frame)
    found = read_layers(frame, layers)
    if found is None:
        raise FormatError("absent", "the frame carries no header")
    return splice(frame, layers, found.start, found.end, b"")


def replaced(frame: bytes, header: Header) -> bytes:
    """The frame with another header in the place, and the format, of the one that it carries."""
    found = read(frame)
    if found is None:
        raise FormatError("absent", "the frame carries no header")
    return add(strip(frame), header, found.format or Format.PAPER, found.carrier)


def _innermost_nsh(frame: bytes, layers: tuple[Layer, ...]) -> Layer:
    for layer in reversed(layers):
        if has_metadata(frame, layer):
            return layer
    raise FormatError("unsupported", "no NSH of MD type 2")


def _trailer(header: Header, layout: Format, *, odd: bool) -> bytes:
    """What goes behind the UDP data."""
    if layout is Format.PAPER:
        return encode_option(header, layout)
    option = encode_option(header, layout, UDP_KIND)
    length = odd + _OCS_BYTES + len(option)
    # Zero means "not used" (RFC 9868 section 9).
    ocs = -(ones_complement_sum(option) + length) % 0xFFFF or 0xFFFF
    return bytes(odd) + ocs.to_bytes(2, "big") + option


def _read_nsh(frame: bytes, layer: Layer) -> Found | None:
    try:
        metadata = Nsh.decode(frame[layer.start : layer.end])[0].metadata
    except NshError as error:
        raise FormatError("malformed", f"NSH: {error}") from error
    if isinstance(metadata, bytes) or not metadata or not is_ours(metadata[0]):
        return None
    header = decode_contexts(metadata)
    size = 0
    for context in metadata:
        if not is_ours(context):
            break
        size += len(context.encode())
    start = layer.start + 8
    return Found(header, Carrier.NSH, None, start, start + size)


def _read_tcp(frame: bytes, layer: Layer) -> Found | None:
    for start, end in tcp_options.bounds(frame, layer.start + 20, layer.payload):
        try:
            header, layout = decode_option(frame[start:end])
        except FormatError as error:
            if error.reason == "absent":
                continue
            raise
        return Found(header, Carrier.L4, layout, start, end)
    return None


def _read_udp(frame: bytes, layer: Layer, ip_end: int) -> Found | None:
    start = layer.end
    for at, layout in ((start, Format.PAPER), (start + _lead(layer), Format.RFC)):
        if ip_end - at < 2 or at + frame[at + 1] != ip_end:
            continue
        try:
            header, seen = decode_option(frame[at:ip_end])
        except FormatError as error:
            if error.reason == "absent":
                continue
            raise
        if seen is layout:
            if layout is Format.RFC:
                _check_ocs(frame, layer, ip_end)
            return Found(header, Carrier.L4, layout, start, ip_end)
    return None


def _lead(layer: Layer) -> int:
    """Bytes before the options of RFC 9868: OCS, and a pad byte where the length is odd."""
    return _OCS_BYTES + (layer.end - layer.start) % 2


def _check_ocs(frame: bytes, layer: Layer, ip_end: int) -> None:
    pad = (layer.end - layer.start) % 2
    surplus = frame[layer.end + pad : ip_end]
    if any(frame[layer.end : layer.end + pad]):
        raise FormatError("malformed", "the byte before the OCS is not zero")
    if surplus[:2] != b"\0\0" and (ones_complement_sum(surplus) + pad + len(surplus)) % 0xFFFF:
        raise FormatError("checksum", f"OCS {surplus[:2].hex()} is wrong")
