"""Finds what an Ethernet frame carries behind its VLAN tags."""

from __future__ import annotations

IPV4, IPV6 = 0x0800, 0x86DD
TAGS = frozenset({0x8100, 0x88A8, 0x9100})
"""EtherTypes of VLAN tags: IEEE 802.1Q, 802.1ad, and what was used before the latter."""
TAG_BYTES = 4
_TYPE_AT, _TYPE_BYTES = 12, 2


def network_layer(frame: bytes) -> tuple[int, int]:
    """Return the EtherType behind all VLAN tags, and the offset at which the network layer's header
    begins. Raises IndexError for a frame that is too short."""
    at = _TYPE_AT
    while (kind := frame[at] << 8 | frame[at + 1]) in TAGS:
        at += TAG_BYTES
    return kind, at + _TYPE_BYTES


def without_tags(frame: bytes) -> bytes:
    """Return the frame without its VLAN tags. Raises IndexError for a frame that is too short."""
    _, at = network_layer(frame)
    return frame if at == _TYPE_AT + _TYPE_BYTES else frame[:_TYPE_AT] + frame[at - _TYPE_BYTES :]
