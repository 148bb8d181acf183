"""The Internet checksum."""

from __future__ import annotations

import struct


def with_checksum(data: bytes, at: int) -> bytes:
    """Return the data with its Internet checksum (RFC 1071) written at the offset `at`. The two
    bytes there must be 0 before."""
    padded = data + b"\x00" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return data[:at] + struct.pack("!H", ~total & 0xFFFF) + data[at + 2 :]
