"""Where the headers of a frame are: Ethernet, VLAN, NSH, VXLAN-GPE, IP, TCP, UDP."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sfcperf.dataplane.nsh import ETHERTYPE as ETHERTYPE_NSH
from sfcperf.dataplane.nsh import NEXT_NSH, UDP_PORT, NextProtocol, Nsh, NshError, VxlanGpe
from support.pptmon_model.errors import FormatError

_ETHERTYPES_VLAN = (0x8100, 0x88A8)
_IPV6_EXTENSIONS = (0, 43, 60)
"""Hop-by-hop options, routing header, destination options."""
_FRAGMENT = 44


class Kind(Enum):
    """What a header is."""

    ETHERNET = "ethernet"
    NSH = "nsh"
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    TCP = "tcp"
    UDP = "udp"
    VXLAN_GPE = "vxlan-gpe"


@dataclass(frozen=True)
class Layer:
    """A header of a frame, by offsets in bytes."""

    kind: Kind
    start: int
    payload: int
    """Where what it carries starts."""
    end: int
    """Where what it carries ends, by its own length."""


_BY_ETHERTYPE = {0x0800: Kind.IPV4, 0x86DD: Kind.IPV6, ETHERTYPE_NSH: Kind.NSH}
_BY_PROTOCOL = {6: Kind.TCP, 17: Kind.UDP}
_BY_NSH: dict[int, Kind] = {
    NextProtocol.IPV4: Kind.IPV4,
    NextProtocol.IPV6: Kind.IPV6,
    NextProtocol.ETHERNET: Kind.ETHERNET,
}


def walk(frame: bytes) -> tuple[Layer, ...]:
    """The headers of a frame, outermost first, down to TCP or UDP or what is not known.

    Raises FormatError with reason `truncated`, `malformed` or `fragment`; not for what is inside an
    NSH of MD type 2, whose metadata is what matters.
    """
    layers: list[Layer] = []
    following: Kind | None = Kind.ETHERNET
    at, end = 0, len(frame)
    while following is not None:
        try:
            layer, following = _READERS[following](frame, at, end)
        except FormatError:
            if any(has_metadata(frame, one) for one in layers):
                break
            raise
        layers.append(layer)
        at, end = layer.payload, layer.end
    return tuple(layers)


def has_metadata(frame: bytes, layer: Layer) -> bool:
    """Whether it is an NSH of MD type 2, which has room for context headers."""
    return layer.kind is Kind.NSH and frame[layer.start + 2] & 0x0F == 2


def _need(end: int, start: int, size: int, what: str) -> None:
    if end - start < size:
        raise FormatError("truncated", f"{end - start} bytes are less than {what}'s {size}")


def _ethernet(frame: bytes, start: int, end: int) -> tuple[Layer, Kind | None]:
    _need(end, start, 14, "Ethernet")
    at = start + 12
    while (type_ := int.from_bytes(frame[at : at + 2], "big")) in _ETHERTYPES_VLAN:
        at += 4
        _need(end, start, at + 2 - start, "VLAN")
    return Layer(Kind.ETHERNET, start, at + 2, end), _BY_ETHERTYPE.get(type_)


def _nsh(frame: bytes, start: int, end: int) -> tuple[Layer, Kind | None]:
    try:
        header, payload = Nsh.decode(frame[start:end])
    except NshError as error:
        raise FormatError("malformed", f"NSH: {error}") from error
    return Layer(Kind.NSH, start, end - len(payload), end), _BY_NSH.get(header.next_protocol)


def _ipv4(frame: bytes, start: int, end: int) -> tuple[Layer, Kind | None]:
    _need(end, start, 20, "IPv4")
    size, total = (frame[start] & 0xF) * 4, int.from_bytes(frame[start + 2 : start + 4], "big")
    if frame[start] >> 4 != 4 or size < 20 or total < size:
        raise FormatError("malformed", f"IPv4 with a header of {size} and {total} in all")
    _need(end, start, total, "IPv4")
    if int.from_bytes(frame[start + 6 : start + 8], "big") & 0x3FFF:
        raise FormatError("fragment", "a fragment of IPv4")
    following = _BY_PROTOCOL.get(frame[start + 9])
    return Layer(Kind.IPV4, start, start + size, start + total), following


def _ipv6(frame: bytes, start: int, end: int) -> tuple[Layer, Kind | None]:
    _need(end, start, 40, "IPv6")
    if frame[start] >> 4 != 6:
        raise FormatError("malformed", f"IPv6 of version {frame[start] >> 4}")
    own_end = start + 40 + int.from_bytes(frame[start + 4 : start + 6], "big")
    _need(end, start, own_end - start, "IPv6")
    protocol, at = frame[start + 6], start + 40
    while protocol in _IPV6_EXTENSIONS:
        _need(own_end, at, 8, "an extension header")
        protocol, at = frame[at], at + 8 + 8 * frame[at + 1]
        _need(own_end, start, at - start, "an extension header")
    if protocol == _FRAGMENT:
        raise FormatError("fragment", "a fragment of IPv6")
    return Layer(Kind.IPV6, start, at, own_end), _BY_PROTOCOL.get(protocol)


def _tcp(frame: bytes, start: int, end: int) -> tuple[Layer, Kind | None]:
    _need(end, start, 20, "TCP")
    size = (frame[start + 12] >> 4) * 4
    if size < 20:
        raise FormatError("malformed", f"TCP with a header of {size} bytes")
    _need(end, start, size, "TCP")
    return Layer(Kind.TCP, start, start + size, end), None


def _udp(frame: bytes, start: int, end: int) -> tuple[Layer, Kind | None]:
    _need(end, start, 8, "UDP")
    length = int.from_bytes(frame[start + 4 : start + 6], "big")
    if length < 8:
        raise FormatError("malformed", f"UDP with a length of {length} bytes")
    _need(end, start, length, "UDP")
    own_end = start + length
    tunnel = int.from_bytes(frame[start + 2 : start + 4], "big") == UDP_PORT
    following = Kind.VXLAN_GPE if tunnel and _has_nsh(frame[start + 8 : own_end]) else None
    return Layer(Kind.UDP, start, start + 8, own_end), following


def _has_nsh(data: bytes) -> bool:
    try:
        return VxlanGpe.decode(data)[0].next_protocol == NEXT_NSH
    except NshError:
        return False


def _vxlan_gpe(frame: bytes, start: int, end: int) -> tuple[Layer, Kind | None]:
    _need(min(end, len(frame)), start, 8, "VXLAN-GPE")
    return Layer(Kind.VXLAN_GPE, start, start + 8, end), Kind.NSH


_READERS = {
    Kind.ETHERNET: _ethernet,
    Kind.NSH: _nsh,
    Kind.IPV4: _ipv4,
    Kind.IPV6: _ipv6,
    Kind.TCP: _tcp,
    Kind.UDP: _udp,
    Kind.VXLAN_GPE: _vxlan_gpe,
}
