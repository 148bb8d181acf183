"""What SFCMon knows of a packet, and the keys that it makes from it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import AF_INET, AF_INET6, inet_ntop

KEY_BYTES = 44
"""Length of the longest FlowID2, that of IPv6."""
_IPV4_KEY_BYTES = 20
# Places in a FlowID2, see `flow_id_2`: SPI, SI, protocol, IP version, two zeros, ports, addresses.
_VERSION_AT = 5
_ADDRESSES_AT = 12


@dataclass(frozen=True)
class Flow:
    """The fields of SFCMon's FlowID2: service path and 5-tuple."""

    spi: int
    si: int
    src: IPv4Address | IPv6Address
    dst: IPv4Address | IPv6Address
    proto: int
    src_port: int = 0
    dst_port: int = 0

    @property
    def flow_id_1(self) -> bytes:
        """SPI, SI and source address: 8 bytes for IPv4, 20 for IPv6."""
        return self._path + self.src.packed

    @property
    def flow_id_2(self) -> bytes:
        """SPI, SI and 5-tuple: 20 bytes for IPv4, 44 for IPv6."""
        head = self._path + bytes([self.proto, self.src.version, 0, 0])
        ports = self.src_port.to_bytes(2, "big") + self.dst_port.to_bytes(2, "big")
        return head + ports + self.src.packed + self.dst.packed

    @property
    def _path(self) -> bytes:
        """SPI and SI, 4 bytes."""
        return self.spi.to_bytes(3, "big") + bytes([self.si])

    @classmethod
    def of_key(cls, key: bytes) -> Flow:
        """Return the flow of a FlowID2 that `unpadded` returned."""
        addresses = key[_ADDRESSES_AT:]
        half = len(addresses) // 2
        return cls(
            spi=int.from_bytes(key[:3], "big"),
            si=key[3],
            src=ip_address(addresses[:half]),
            dst=ip_address(addresses[half:]),
            proto=key[4],
            src_port=int.from_bytes(key[8:10], "big"),
            dst_port=int.from_bytes(key[10:12], "big"),
        )


@dataclass(frozen=True)
class Packet:
    """What SFCMon takes from a packet that it could parse."""

    flow: Flow
    size_bytes: int
    """Length of the IP packet."""


def text(address: IPv4Address | IPv6Address) -> str:
    """Return an address as the simulator writes it, such as ::ffff:10.0.0.1 (RFC 5952 section
    5). Python's str() writes such addresses in different ways, depending on its version."""
    return inet_ntop(AF_INET if address.version == 4 else AF_INET6, address.packed)


def unpadded(field: bytes) -> bytes | None:
    """Return the FlowID2 in a key field of 44 bytes without its padding; None if the field holds
    none."""
    version, reserved = field[_VERSION_AT], field[_VERSION_AT + 1 : _VERSION_AT + 3]
    if reserved != b"\0\0":
        return None
    if version == 6:
        return field
    if version == 4 and not any(field[_IPV4_KEY_BYTES:]):
        return field[:_IPV4_KEY_BYTES]
    return None
