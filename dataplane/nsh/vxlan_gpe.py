"""VXLAN-GPE, the tunnel that carries an NSH over UDP (draft-ietf-nvo3-vxlan-gpe section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.dataplane.nsh.header import NshError, require

UDP_PORT = 4790
NEXT_NSH = 4

_BYTES = 8
_INSTANCE = 0x08
_NEXT_PROTOCOL = 0x04
_VERSION_MASK = 0x30


@dataclass(frozen=True)
class VxlanGpe:
    """A VXLAN-GPE header with a valid VNI and a next protocol (flags I and P)."""

    vni: int
    """VXLAN Network Identifier, 24 bits."""
    next_protocol: int = NEXT_NSH

    def __post_init__(self) -> None:
        require(self.vni, "VNI", 0xFFFFFF)
        require(self.next_protocol, "next protocol", 0xFF)

    def encode(self) -> bytes:
        """Return the 8 bytes of the header."""
        flags = _INSTANCE | _NEXT_PROTOCOL
        return bytes([flags, 0, 0, self.next_protocol]) + self.vni.to_bytes(3, "big") + b"\0"

    @classmethod
    def decode(cls, data: bytes) -> tuple[VxlanGpe, bytes]:
        """Return the header at the start of `data`, and the bytes that follow it.

        Raises NshError with reason `truncated` or `encapsulation`.
        """
        if len(data) < _BYTES:
            raise NshError("truncated", f"{len(data)} bytes are less than a header's {_BYTES}")
        flags, wanted = data[0], _INSTANCE | _NEXT_PROTOCOL
        if flags & (_VERSION_MASK | wanted) != wanted:
            raise NshError(
                "encapsulation", f"flags {flags:#04x}: version 0 with I and P set is wanted"
            )
        return cls(int.from_bytes(data[4:7], "big"), data[3]), data[_BYTES:]
