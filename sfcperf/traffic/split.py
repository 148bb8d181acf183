"""Splits the flows of a trace into those that train a classifier and those that it must judge."""

from __future__ import annotations

from hashlib import blake2b

from sfcperf.packets.five_tuple import Flow


def trains(flow: Flow, seed: int, share: float) -> bool:
    """Whether a flow belongs to the `share` (0 to 1) of the flows that train a classifier. The
    trained classifier must not have seen the others. A keyed hash of the 5-tuple decides, so both
    directions of a flow, and all machines, get the same answer."""
    key = blake2b(repr(tuple(flow.canonical)).encode(), key=seed.to_bytes(8, "big"), digest_size=8)
    return int.from_bytes(key.digest(), "big") < share * 2**64
