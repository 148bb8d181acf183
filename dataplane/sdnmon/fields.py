"""Monitoring match fields, and how keys are laid out (docs/reference/sdn-mon.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property


class Depth(IntEnum):
    """The layer up to which frames are read."""

    LINK = 0
    IP = 1
    TRANSPORT = 2


HEADERS = ("vlan", "ip", "ipv4", "ipv6", "ports", "tcp", "icmp", "nsh", "tunnel")
"""Headers of a packet, by the bits of `presence`, from the lowest on."""


@dataclass(frozen=True)
class Field:
    """A match field: so many bytes of a key, of which so many bits can be set."""

    name: str
    bytes: int
    bits: int
    header: str | None
    """The header that a packet must have; None: every frame has the field."""
    depth: Depth
    """How far a frame must be read for the field."""
    looks_into_tunnels: bool = False
    """Whether tunnels and NSH must be read for the field."""

    @property
    def mask(self) -> int:
        """The mask with all bits of the field set."""
        return (1 << self.bits) - 1


PRESENCE = Field("presence", 2, 16, None, Depth.LINK)
FIELDS = (
    Field("ipv6_src", 16, 128, "ipv6", Depth.IP),
    Field("ipv6_dst", 16, 128, "ipv6", Depth.IP),
    Field("tunnel_id", 8, 64, "tunnel", Depth.IP, looks_into_tunnels=True),
    Field("ipv4_src", 4, 32, "ipv4", Depth.IP),
    Field("ipv4_dst", 4, 32, "ipv4", Depth.IP),
    Field("nsh_spi", 4, 24, "nsh", Depth.IP, looks_into_tunnels=True),
    Field("eth_dst", 6, 48, None, Depth.LINK),
    Field("eth_src", 6, 48, None, Depth.LINK),
    Field("eth_type", 2, 16, None, Depth.LINK),
    Field("vlan_vid", 2, 13, "vlan", Depth.LINK),
    Field("tp_src", 2, 16, "ports", Depth.TRANSPORT),
    Field("tp_dst", 2, 16, "ports", Depth.TRANSPORT),
    Field("tcp_flags", 2, 12, "tcp", Depth.TRANSPORT),
    PRESENCE,
    Field("ip_proto", 1, 8, "ip", Depth.IP),
    Field("ip_dscp", 1, 6, "ip", Depth.IP),
    Field("ip_ecn", 1, 2, "ip", Depth.IP),
    Field("vlan_pcp", 1, 3, "vlan", Depth.LINK),
    Field("icmp_type", 1, 8, "icmp", Depth.TRANSPORT),
    Field("icmp_code", 1, 8, "icmp", Depth.TRANSPORT),
    Field("nsh_si", 1, 8, "nsh", Depth.IP, looks_into_tunnels=True),
)
"""All fields, in the order of a key."""
NAMES = tuple(field.name for field in FIELDS if field is not PRESENCE)
_WORD_BYTES = 4


@dataclass(frozen=True)
class Layout:
    """The fields of a monitoring table, and how they form a key."""

    masks: Mapping[str, int]
    """Name of each field -> its bits that count."""

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields in the order of a key, `presence` among them."""
        return tuple(f for f in FIELDS if f.name in self.masks or f is PRESENCE)

    @property
    def depth(self) -> Depth:
        """The layer up to which frames are read for these fields."""
        return max(field.depth for field in self.fields)

    @property
    def looks_into_tunnels(self) -> bool:
        """Whether fields of IP are those of the packet inside a tunnel."""
        return any(field.looks_into_tunnels for field in self.fields)

    @property
    def headers(self) -> frozenset[str]:
        """The headers that the fields belong to."""
        return frozenset(field.header for field in self.fields if field.header)

    @property
    def has_link_fields(self) -> bool:
        """Whether every frame has some of the fields."""
        return any(f is not PRESENCE and f.header is None for f in self.fields)

    def key(self, values: Mapping[str, int], headers: Iterable[str]) -> bytes:
        """Return the key of a packet with these values and headers. Fields without a value are 0,
        and bits outside of the masks are left out. Zeros fill the last word of 4 bytes."""
        seen = self.headers.intersection(headers)
        presence = sum(1 << HEADERS.index(header) for header in seen)
        known = {**values, PRESENCE.name: presence}
        masks = {**self.masks, PRESENCE.name: PRESENCE.mask}
        packed = b"".join(
            (known.get(f.name, 0) & masks[f.name]).to_bytes(f.bytes, "big") for f in self.fields
        )
        return packed + bytes(-len(packed) % _WORD_BYTES)
