"""Invertible Bloom lookup table (Goodrich and Mitzenmacher 2011), with packets and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sfcperf.sketches.hashing import hash32, reduced

COUNT_MASK = (1 << 32) - 1
"""Mask of the fields `count` and `packets`, which wrap at 32 bits."""
BYTES_MASK = (1 << 64) - 1
"""Mask of the field `bytes`, which wraps at 64 bits."""


@dataclass(frozen=True)
class Shape:
    """Sizes and seeds of a table, by which the cells of each key are known."""

    cells: int
    """Number of cells of the table."""
    hashes: int
    """Number of cells that each key is in; they are all different."""
    key_bytes: int
    """Size of the key field; shorter keys are followed by zeros."""
    first_seed: int
    """Hash function i has the seed `first_seed` + i."""
    checksum_seed: int
    """Seed of the hash value that a key adds to the field `checksum`."""

    def places(self, key: bytes) -> list[int]:
        """Return the indices of a key's cells, one by each hash function. Where the key already has
        the cell, the next cell that it does not have is taken instead."""
        places: list[int] = []
        for seed in range(self.first_seed, self.first_seed + self.hashes):
            place = reduced(hash32(key, seed), self.cells)
            while place in places:
                place = (place + 1) % self.cells
            places.append(place)
        return places

    def checksum(self, key: bytes) -> int:
        """Return what a key adds to the field `checksum` of its cells."""
        return hash32(key, self.checksum_seed)

    def padded(self, key: bytes) -> int:
        """Return what a key adds to the field `key_sum` of its cells: the key as a number, most
        significant byte first, with zeros behind a shorter key."""
        return int.from_bytes(key.ljust(self.key_bytes, b"\0"), "big")


@dataclass
class Cells:
    """The fields of a table's cells: sums over the flows of each cell."""

    count: list[int]
    """Flows that were inserted, modulo 2^32."""
    key_sum: list[int]
    """Exclusive or of their keys, each read as a number, most significant byte first."""
    checksum: list[int]
    """Exclusive or of the hash values of their keys."""
    packets: list[int]
    """Modulo 2^32."""
    bytes: list[int]
    """Modulo 2^64."""

    @classmethod
    def empty(cls, cells: int) -> Cells:
        """Return so many cells in which all fields are 0."""
        return cls(*([0] * cells for _ in range(5)))

    def copy(self) -> Cells:
        """Return a copy of all cells, which can be changed without changing these."""
        return Cells(*(list(column) for column in self._columns()))

    def rows(self) -> Iterable[tuple[int, ...]]:
        """Give the fields of each cell, in the order in which this class has them."""
        return zip(*self._columns(), strict=True)

    def set(self, place: int, fields: Sequence[int]) -> None:
        """Set the fields of one cell, in the order in which this class has them."""
        for column, value in zip(self._columns(), fields, strict=True):
            column[place] = value

    def _columns(self) -> tuple[list[int], ...]:
        """Return each field as a list over all cells, in the order in which this class has them."""
        return self.count, self.key_sum, self.checksum, self.packets, self.bytes


@dataclass
class Iblt:
    """A table of flows from which they can be listed again (sfcperf.sketches.listing)."""

    shape: Shape
    cells: Cells = field(init=False)

    def __post_init__(self) -> None:
        self.cells = Cells.empty(self.shape.cells)

    def insert(self, key: bytes) -> None:
        """Insert the key of a new flow (algorithm 2 of SFCMon). A key must be inserted once only: a
        second time cancels it out of the fields with exclusive or, and it cannot be listed."""
        cells = self.cells
        for place in self.shape.places(key):
            cells.count[place] = cells.count[place] + 1 & COUNT_MASK
            cells.key_sum[place] ^= self.shape.padded(key)
            cells.checksum[place] ^= self.shape.checksum(key)

    def update(self, key: bytes, size_bytes: int) -> None:
        """Count a packet of a flow that was inserted (algorithm 3 of SFCMon)."""
        cells = self.cells
        for place in self.shape.places(key):
            cells.packets[place] = cells.packets[place] + 1 & COUNT_MASK
            cells.bytes[place] = cells.bytes[place] + size_bytes & BYTES_MASK
