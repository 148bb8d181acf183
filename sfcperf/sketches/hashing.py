"""The hash function of all sketches, and indices made from it."""

from __future__ import annotations

import mmh3


def hash32(key: bytes, seed: int) -> int:
    """Return the hash value MurmurHash3_x86_32 of a key, 32 bits without sign."""
    return mmh3.hash(key, seed, signed=False)


def reduced(value: int, cells: int) -> int:
    """Reduce a 32-bit hash value to an index from 0 to `cells` - 1, by a multiplication instead of
    a division (D. Lemire, *Fast Random Integer Generation in an Interval*, 2019, section 4)."""
    return value * cells >> 32
