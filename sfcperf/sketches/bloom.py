"""Bloom filter (Bloom 1970)."""

from __future__ import annotations

import math

from sfcperf.sketches.hashing import hash32, reduced


def false_positive_rate(bits: int, hashes: int, keys: int) -> float:
    """Return the probability that a key that was not added is taken for one that was, after `keys`
    keys were added (SFCMon, equation 1)."""
    # The share of set bits is 1 - (1 - 1/bits)^(hashes * keys). For large filters, the power is
    # near 1, and the difference would keep few digits; log1p and expm1 avoid that. For a filter of
    # one bit, log1p would be infinite: the bit is set as soon as there is a key.
    share_set = -math.expm1(hashes * keys * math.log1p(-1 / bits)) if bits > 1 else float(keys > 0)
    return share_set**hashes


def false_positives(bits: int, hashes: int, keys: int) -> float:
    """Return the expected number of keys that are taken for stored ones while `keys` different keys
    are added one by one. It is the sum of equation 1 over the growing filter."""
    import numpy as np

    if bits == 1:  # every key but the first
        return max(0, keys - 1)
    share_set = -np.expm1(hashes * np.arange(keys) * math.log1p(-1 / bits))
    return float(np.sum(share_set**hashes))


def bits_for(keys: int, hashes: int, most_false_positives: float) -> int:
    """Return the least number of bits, a multiple of 64, with which `false_positives` is at most
    `most_false_positives`."""
    # In units of 64 bits: `low` is not enough, `high` is.
    low, high = 0, 1
    while false_positives(64 * high, hashes, keys) > most_false_positives:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if false_positives(64 * middle, hashes, keys) > most_false_positives:
            low = middle
        else:
            high = middle
    return 64 * high


class BloomFilter:
    """A Bloom filter: a set of keys that has all keys that were added, and sometimes seems to have
    one that was not."""

    def __init__(self, bits: int, hashes: int, first_seed: int) -> None:
        """Hash function i has the seed `first_seed` + i."""
        self.bits = bits
        self.set_bits: set[int] = set()
        """Places of the bits that are 1, from 0."""
        self._seeds = range(first_seed, first_seed + hashes)

    def add(self, key: bytes) -> bool:
        """Add a key. Returns whether it seems to have been in the filter before; this may be a
        false positive."""
        bits = {reduced(hash32(key, seed), self.bits) for seed in self._seeds}
        stored = bits <= self.set_bits
        self.set_bits |= bits
        return stored
