"""Which flows of a trace train a classifier, and which it must judge."""

from __future__ import annotations

from hashlib import blake2b

from sfcperf.packets.five_tuple import Flow


def trains(flow: Flow, seed: int, share: float) -> bool:
    """Whether the flow belongs to the `share` (0 to 1) that trains: both directions of it, on every
    machine alike. The others are what the trained classifier has never seen."""
    key = blake2b(repr(tuple(flow.canonical)).encode(), key=seed.to_bytes(8, "big"), digest_size=8)
    return int.from_bytes(key.digest(), "big") < share * 2**64
