"""Lists the flows of an invertible Bloom lookup table (Goodrich and Mitzenmacher 2011, section
3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sfcperf.sketches.iblt import BYTES_MASK, COUNT_MASK, Cells, Shape

Unpadded = Callable[[bytes], bytes | None]
"""Function that takes the bytes of a key field and returns the key that they hold, or None if they
hold no well-formed key."""


class Certainty(StrEnum):
    """How certain the packets and bytes of a listed flow are."""

    EXACT = "exact"
    """The counts are exact: all cells that could show an error agree with them."""
    UNVERIFIED = "unverified"
    """The counts could not be checked: cells that could show an error contain flows that were not
    listed."""
    AT_MOST = "at most"
    """The counts are upper bounds: they contain packets of a flow that was never inserted."""


@dataclass(frozen=True, slots=True)
class ListedFlow:
    """A flow that a table contains, with its packets and bytes and how certain they are."""

    key: bytes
    packets: int
    bytes: int
    certainty: Certainty


@dataclass(frozen=True)
class Listing:
    """The flows of a table that could be listed, and what is left in the table."""

    flows: tuple[ListedFlow, ...]
    missing_flows: int
    """Flows that were inserted and not listed."""
    missing_packets: int
    """Upper bound for the packets of all missing flows together, as far as listed flows are
    exact."""
    missing_bytes: int
    """Upper bound for their bytes together, as far as listed flows are exact."""
    residual_cells: int
    """Cells without a flow that contain packets or bytes. These belong to flows that were never
    inserted, because a Bloom filter took them for known ones (false positives)."""

    @property
    def complete(self) -> bool:
        """Whether all flows are listed."""
        return self.missing_flows == 0


@dataclass(slots=True)
class _PeeledFlow:
    """A flow that was removed from the table, with the counts that its pure cell had."""

    key: bytes
    pivot: int
    """The pure cell (a cell of one flow) in which the flow was found."""
    places: list[int]
    packets: int
    bytes: int


def listing(
    shape: Shape, cells: Cells, unpadded: Unpadded, *, may_have_wrapped: bool = False
) -> Listing:
    """List the flows of a table. The table itself is not changed. `may_have_wrapped` says that
    counters of a flow may have passed their maximum; the table does not show that, so no count is
    called exact then."""
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
    # Each flow is in `shape.hashes` cells, so sums over cells contain it that many times. The
    # number of flows is rounded up, so that it is not 0 while a cell has a flow.
    return Listing(
        flows,
        missing_flows=-(-sum(left.count) // shape.hashes),
        missing_packets=sum(left.packets[place] for place in occupied) // shape.hashes,
        missing_bytes=sum(left.bytes[place] for place in occupied) // shape.hashes,
        residual_cells=residual,
    )


def _peel(shape: Shape, residual: Cells, unpadded: Unpadded) -> list[_PeeledFlow]:
    """Find flows in `residual`, remove them from it, and return them in the order in which they
    were found. A flow is found in a pure cell (a cell of one flow), and is removed from all of its
    cells, which may make other cells pure. `residual` keeps what belongs to no flow that was
    found."""
    peeled = []
    count, key_sum, checksum = residual.count, residual.key_sum, residual.checksum
    waiting = [place for place, flows in enumerate(count) if flows == 1]
    while waiting:
        pivot = waiting.pop()
        if count[pivot] != 1:
            continue
        # A count of 1 alone does not prove that the cell is pure: its other fields must fit a key.
        key = unpadded(key_sum[pivot].to_bytes(shape.key_bytes, "big"))
        if key is None or shape.checksum(key) != checksum[pivot]:
            continue
        places = shape.places(key)
        if pivot not in places:
            continue
        flow = _PeeledFlow(key, pivot, places, residual.packets[pivot], residual.bytes[pivot])
        # Copies, because the loop changes the pure cell too.
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
    """Return for each cell whether it has no flow, but contains packets or bytes."""
    fields = zip(residual.count, residual.packets, residual.bytes, strict=True)
    return [not count and bool(packets or size) for count, packets, size in fields]


def _certainties(peeled: Sequence[_PeeledFlow], left: Cells) -> list[Certainty]:
    """Judge how certain the counts of each flow are, in the order of `peeled`.

    Wrong counts of a flow are subtracted from its other cells as well, and so make the flows wrong
    that were found there later. In a cell in which no flow was found, the error shows as a residue.
    So the flows are judged from the last one back to the first.
    """
    # For each cell: whether it shows an error, and whether flows that were not listed may hide one.
    residual = _residual(left)
    unknown = [count != 0 for count in left.count]
    certainties = []
    for flow in reversed(peeled):
        # The flow has the counts of its pure cell, so an error in them does not show there. It
        # shows in the flow's other cells, from which these counts were subtracted.
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
    """Return a flow with its counts. If these contain packets of others, the least counts of its
    cells in the original table replace them, which are upper bounds. `residual` says whether some
    cell of the table has a residue."""
    packets = min(cells.packets[place] for place in flow.places)
    size_bytes = min(cells.bytes[place] for place in flow.places)
    # An error may not have shown, because cells that could show it contain flows that were not
    # listed, or a second error that cancels it out. It still shows in a flow whose count is greater
    # than that of one of its cells, as where a difference has wrapped. For packets there is another
    # explanation without an error: the sum of a cell has wrapped. For bytes there is none, since no
    # window has 2^64 bytes.
    if flow.bytes > size_bytes or (
        flow.packets > packets and (residual or certainty is Certainty.UNVERIFIED)
    ):
        certainty = Certainty.AT_MOST
    if certainty is Certainty.AT_MOST:
        return ListedFlow(flow.key, packets, size_bytes, certainty)
    return ListedFlow(flow.key, flow.packets, flow.bytes, certainty)
