"""Jenkins' hash function lookup3 (B. Jenkins, 2006), as DPDK's rte_jhash() computes it."""

from __future__ import annotations

import struct

_GOLDEN_RATIO = 0xDEADBEEF
"""Part of the initial state; the name is DPDK's (RTE_JHASH_GOLDEN_RATIO)."""
_MASK = 0xFFFFFFFF
_BLOCK_BYTES = 12


def jhash(key: bytes, seed: int = 0) -> int:
    """Return the hash value of a key, 32 bits, as it comes out on little-endian machines."""
    a = b = c = _GOLDEN_RATIO + len(key) + seed & _MASK
    while len(key) > _BLOCK_BYTES:
        x, y, z = struct.unpack_from("<III", key)
        a, b, c = _mixed(a + x & _MASK, b + y & _MASK, c + z & _MASK)
        key = key[_BLOCK_BYTES:]
    if not key:  # it was empty from the beginning
        return c
    x, y, z = struct.unpack("<III", key.ljust(_BLOCK_BYTES, b"\0"))
    return _final(a + x & _MASK, b + y & _MASK, c + z & _MASK)


def _rotated(value: int, bits: int) -> int:
    """Rotate a 32-bit value to the left."""
    return (value << bits | value >> 32 - bits) & _MASK


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix the state after a block of 12 bytes (the macro `mix` of lookup3)."""
    a = (a - c ^ _rotated(c, 4)) & _MASK
    c = c + b & _MASK
    b = (b - a ^ _rotated(a, 6)) & _MASK
    a = a + c & _MASK
    c = (c - b ^ _rotated(b, 8)) & _MASK
    b = b + a & _MASK
    a = (a - c ^ _rotated(c, 16)) & _MASK
    c = c + b & _MASK
    b = (b - a ^ _rotated(a, 19)) & _MASK
    a = a + c & _MASK
    c = (c - b ^ _rotated(b, 4)) & _MASK
    b = b + a & _MASK
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    """Mix the state after the last block, and return the hash value (the macro `final` of
    lookup3)."""
    c = ((c ^ b) - _rotated(b, 14)) & _MASK
    a = ((a ^ c) - _rotated(c, 11)) & _MASK
    b = ((b ^ a) - _rotated(a, 25)) & _MASK
    c = ((c ^ b) - _rotated(b, 16)) & _MASK
    a = ((a ^ c) - _rotated(c, 4)) & _MASK
    b = ((b ^ a) - _rotated(a, 14)) & _MASK
    return (c ^ b) - _rotated(b, 24) & _MASK
