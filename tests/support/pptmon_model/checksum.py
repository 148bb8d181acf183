"""The Internet checksum, and its change with what it covers (RFC 1071, RFC 1624)."""

from __future__ import annotations


def ones_complement_sum(data: bytes) -> int:
    """Sum of 16-bit words in one's complement, 0 to 0xffff; an odd end is padded with zero."""
    padded = data + bytes(len(data) % 2)
    total = sum(int.from_bytes(padded[at : at + 2], "big") for at in range(0, len(padded), 2))
    return _folded(total) if total else 0


def adjust(checksum: int, old: bytes, new: bytes) -> int:
    """The checksum when what it covers changes from `old` to `new`, as wrong as it was before.

    Zero may come out; UDP sends 0xffff instead.
    """
    total = (0xFFFF - checksum) - ones_complement_sum(old) + ones_complement_sum(new)
    return 0xFFFF - _folded(total)


def _folded(total: int) -> int:
    """Modulo 2^16 - 1, zero being written 0xffff."""
    return total % 0xFFFF or 0xFFFF
