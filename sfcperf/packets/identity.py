"""The identity of a packet: those of its fields that VNFs do not change. By it, the same packet is
recognised on both sides of a VNF.

It leaves out what forwarding, NAT and pptmon change: MAC addresses, IP addresses, TTL, ports,
checksums, IP's length, options of TCP, and what follows UDP's data.
"""

from __future__ import annotations

from struct import unpack_from

from sfcperf.packets.ethernet import IPV4, IPV6, network_layer

Identity = tuple[int | bytes, ...]
"""IP version, number and place of the fragment, transport protocol, and what `_transport` adds."""

_ICMP, _TCP, _UDP, _ICMPV6 = 1, 6, 17, 58
_FRAGMENT = 44
_EXTENSIONS = frozenset({0, 43, 60})
"""Extension headers of IPv6 whose length is in their second byte: hop-by-hop options, routing,
destination options."""
_PAYLOAD_BYTES = 16
"""Bytes of the payload that an identity has. iperf3, ping and others number or stamp their packets
there."""

SNAPLEN = 14 + 8 + 60 + 60 + _PAYLOAD_BYTES
"""Bytes to capture of each packet so that `identity` works: Ethernet, two VLAN tags, IPv4 and TCP
with all options that fit (or IPv6 with extension headers of 20 bytes), and _PAYLOAD_BYTES."""


def identity(frame: bytes) -> Identity | None:
    """Return the identity of the packet in an Ethernet frame, of which the first SNAPLEN bytes are
    enough. None for a frame without IP packet, or one that is too short or damaged."""
    try:
        kind, at = network_layer(frame)
        if kind == IPV4:
            return _ipv4(frame, at)
        return _ipv6(frame, at) if kind == IPV6 else None
    except (IndexError, ValueError):
        return None


def _ipv4(frame: bytes, at: int) -> Identity | None:
    """Return the identity of a packet whose IPv4 header begins at `at`: the IP version, the number
    (Identification) and the fragment's place, and what `_transport` gives."""
    header_bytes = 4 * (frame[at] & 0x0F)
    if frame[at] >> 4 != 4 or header_bytes < 20:
        return None
    length, number, fragment = _u16(frame, at + 2), _u16(frame, at + 4), _u16(frame, at + 6)
    # The flag "don't fragment" is left out, because some VNFs clear it.
    fragment &= 0x3FFF
    protocol, inner = frame[at + 9], at + header_bytes
    # The lower 13 bits are the offset; the flag "more fragments" is above them.
    inside = _transport(frame, inner, protocol, length - header_bytes, fragment & 0x1FFF)
    return (4, number, fragment, *inside)


def _ipv6(frame: bytes, at: int) -> Identity | None:
    """Return the identity of a packet whose IPv6 header begins at `at`, like `_ipv4`. Number and
    place are 0 without a fragment header; other extension headers are skipped."""
    if frame[at] >> 4 != 6:
        return None
    left, protocol, inner = _u16(frame, at + 4), frame[at + 6], at + 40
    fragment = number = 0
    while protocol in _EXTENSIONS or protocol == _FRAGMENT:
        following = frame[inner]
        if protocol == _FRAGMENT:
            fragment, number = _u16(frame, inner + 2), int.from_bytes(_cut(frame, inner + 4, 4))
            size = 8
        else:
            size = 8 * (frame[inner + 1] + 1)
        protocol, inner, left = following, inner + size, left - size
    return (6, number, fragment, *_transport(frame, inner, protocol, left, fragment >> 3))


def _transport(frame: bytes, at: int, protocol: int, length: int, offset: int) -> Identity:
    """Return the part of the identity that is behind the IP header. `length` is the length of that
    part by the IP header. `offset` is the fragment offset: only the first fragment, with 0, has a
    transport header. Raises IndexError or ValueError for a packet that is cut off or damaged."""
    if offset:
        return (protocol, length, _prefix(frame, at, length))
    if protocol == _TCP:
        header_bytes = 4 * (frame[at + 12] >> 4)
        # The identity has the sequence and acknowledgement numbers and the flags.
        fixed = _cut(frame, at + 4, 8) + _cut(frame, at + 13, 1)
        payload = length - header_bytes
        return (protocol, payload, fixed, _prefix(frame, at + header_bytes, payload))
    if protocol == _UDP:
        payload = _u16(frame, at + 4) - 8
        return (protocol, payload, _prefix(frame, at + 8, payload))
    if protocol in (_ICMP, _ICMPV6):
        # The identity has the type, the code and the sequence number, but not the identifier, which
        # NAT may change.
        fixed = _cut(frame, at, 2) + _cut(frame, at + 6, 2)
        return (protocol, length, fixed, _prefix(frame, at + 8, length - 8))
    return (protocol, length, _prefix(frame, at, length))


def _prefix(frame: bytes, at: int, length: int) -> bytes:
    """Return the first bytes of a payload of this length. What follows the payload in the frame is
    left out: it is padding, or was added on the way. Raises ValueError for a negative length."""
    if length < 0:
        raise ValueError(length)
    return _cut(frame, at, min(length, _PAYLOAD_BYTES))


def _cut(frame: bytes, at: int, count: int) -> bytes:
    """Return `count` bytes of a frame. Raises IndexError for a frame that is too short, where a
    slice would be shorter without an error."""
    if at + count > len(frame):
        raise IndexError(at + count)
    return frame[at : at + count]


def _u16(frame: bytes, at: int) -> int:
    """Return the 16-bit number at an offset. Raises IndexError for a frame that is too short."""
    if at + 2 > len(frame):
        raise IndexError(at)
    value: int = unpack_from(">H", frame, at)[0]
    return value
