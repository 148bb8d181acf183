"""The flows of an invertible Bloom lookup table (Goodrich and Mitzenmacher 2011, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sfcperf.sketches.iblt import BYTES_MASK, COUNT_MASK, Cells, Shape

Unpadded = Callable[[bytes], bytes | None]
"""The key that a key field holds, or None if it is not well-formed."""


class Certainty(StrEnum):
    """What is known of the packets and bytes of a listed flow."""

    EXACT = "exact"
    """All equations of the table agree with them."""
    UNVERIFIED = "unverified"
    """Cells that could check them contain flows that were not listed."""
    AT_MOST = "at most"
    """They contain packets of a flow that was never inserted: they are upper bounds."""


@dataclass(frozen=True, slots=True)
class ListedFlow:
    """A flow with its packets and bytes."""

    key: bytes
    packets: int
    bytes: int
    certainty: Certainty


@dataclass(frozen=True)
class Listing:
    """What was listed, and what is left."""

    flows: tuple[ListedFlow, ...]
    missing_flows: int
    """Flows that were inserted and not listed."""
    missing_packets: int
    """Upper bound for what they have together, as far as listed flows are exact."""
    missing_bytes: int
    residual_cells: int
    """Cells without a flow that contain packets or bytes: those of Bloom filter false positives."""

    @property
    def complete(self) -> bool:
        """Whether all flows are listed."""
        return self.missing_flows == 0


@dataclass(slots=True)
class _PeeledFlow:
    key: bytes
    pivot: int
    """The pure cell in which it was found."""
    places: list[int]
    packets: int
    bytes: int


def listing(
    shape: Shape, cells: Cells, unpadded: Unpadded, *, may_have_wrapped: bool = False
) -> Listing:
    """List the flows of a table, which is left as it is. `may_have_wrapped`: counters of a flow may
    have passed their maximum, which the table itself does not show."""
    left = cells.copy()
    peeled = _peel(shape, left, unpadded)
    certainties = _certainties(peeled, left)
    if may_have_wrapped:
        certainties = [Certainty.UNVERIFIED] * len(peeled)
    residual = sum(_residual(left))
    flows = tuple(
        _listed(flow, certainty, cells, residual > 0)
        for flow, certainty in zip(peeled, certainties, strict=True)
    )
    occupied = [place for place, count in enumerate(left.count) if count]
    # Each flow is in as many cells as there are hash functions.
    return Listing(
        flows,
        missing_flows=-(-sum(left.count) // shape.hashes),
        missing_packets=sum(left.packets[place] for place in occupied) // shape.hashes,
        missing_bytes=sum(left.bytes[place] for place in occupied) // shape.hashes,
        residual_cells=residual,
    )


def _peel(shape: Shape, residual: Cells, unpadded: Unpadded) -> list[_PeeledFlow]:
    """Remove flows from pure cells until there are none, in this order."""
    peeled = []
    count, key_sum, checksum = residual.count, residual.key_sum, residual.checksum
    waiting = [place for place, flows in enumerate(count) if flows == 1]
    while waiting:
        pivot = waiting.pop()
        if count[pivot] != 1:
            continue
        key = unpadded(key_sum[pivot].to_bytes(shape.key_bytes, "big"))
        if key is None or shape.checksum(key) != checksum[pivot]:
            continue
        places = shape.places(key)
        if pivot not in places:
            continue
        flow = _PeeledFlow(key, pivot, places, residual.packets[pivot], residual.bytes[pivot])
        keys, hashes = key_sum[pivot], checksum[pivot]
        for place in places:
            count[place] = count[place] - 1 & COUNT_MASK
            key_sum[place] ^= keys
            checksum[place] ^= hashes
            residual.packets[place] = residual.packets[place] - flow.packets & COUNT_MASK
            residual.bytes[place] = residual.bytes[place] - flow.bytes & BYTES_MASK
            if count[place] == 1:
                waiting.append(place)
        peeled.append(flow)
    return peeled


def _residual(residual: Cells) -> list[bool]:
    """The cells without a flow that contain packets or bytes."""
    fields = zip(residual.count, residual.packets, residual.bytes, strict=True)
    return [not count and bool(packets or size) for count, packets, size in fields]


def _certainties(peeled: Sequence[_PeeledFlow], left: Cells) -> list[Certainty]:
    """An error in a flow was carried to its other cells, and on to the flows that were found in
    these, until a cell in which no flow was found: it shows there. So the flows are judged from
    the last one back."""
    residual = _residual(left)
    unknown = [count != 0 for count in left.count]
    certainties = []
    for flow in reversed(peeled):
        residual[flow.pivot] = any(residual[p] for p in flow.places if p != flow.pivot)
        unknown[flow.pivot] = any(unknown[p] for p in flow.places if p != flow.pivot)
        if residual[flow.pivot]:
            certainties.append(Certainty.AT_MOST)
        elif unknown[flow.pivot]:
            certainties.append(Certainty.UNVERIFIED)
        else:
            certainties.append(Certainty.EXACT)
    return certainties[::-1]


def _listed(flow: _PeeledFlow, certainty: Certainty, cells: Cells, residual: bool) -> ListedFlow:
    packets = min(cells.packets[place] for place in flow.places)
    size_bytes = min(cells.bytes[place] for place in flow.places)
    # Cells that could show an error may contain flows that were not listed, or a second error that
    # cancels it out. It still shows in a flow with more than one of its cells has, as where a
    # difference has wrapped. Or the sum of a cell's packets has wrapped; no window has 2^64 bytes.
    if flow.bytes > size_bytes or (
        flow.packets > packets and (residual or certainty is Certainty.UNVERIFIED)
    ):
        certainty = Certainty.AT_MOST
    if certainty is Certainty.AT_MOST:
        return ListedFlow(flow.key, packets, size_bytes, certainty)
    return ListedFlow(flow.key, flow.packets, flow.bytes, certainty)
