"""Invertible Bloom lookup table (Goodrich and Mitzenmacher 2011), with packets and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sfcperf.sketches.hashing import hash32, reduced

COUNT_MASK = (1 << 32) - 1
"""Of `count` and `packets`, which wrap."""
BYTES_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Shape:
    """Sizes and seeds of a table."""

    cells: int
    hashes: int
    """Cells of each key, all different."""
    key_bytes: int
    """Size of the key field; shorter keys are followed by zeros."""
    first_seed: int
    """Hash function i has the seed `first_seed` + i."""
    checksum_seed: int

    def places(self, key: bytes) -> list[int]:
        """The cells of a key: the next one is taken instead of one that the key has already."""
        places: list[int] = []
        for seed in range(self.first_seed, self.first_seed + self.hashes):
            place = reduced(hash32(key, seed), self.cells)
            while place in places:
                place = (place + 1) % self.cells
            places.append(place)
        return places

    def checksum(self, key: bytes) -> int:
        """What a key adds to the field of this name."""
        return hash32(key, self.checksum_seed)

    def padded(self, key: bytes) -> int:
        """A key as its field holds it."""
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
        """So many cells of zeros."""
        return cls(*([0] * cells for _ in range(5)))

    def copy(self) -> Cells:
        """Another table with the same cells."""
        return Cells(*(list(column) for column in self._columns()))

    def rows(self) -> Iterable[tuple[int, ...]]:
        """The fields of each cell."""
        return zip(*self._columns(), strict=True)

    def set(self, place: int, fields: Sequence[int]) -> None:
        """Set the fields of a cell."""
        for column, value in zip(self._columns(), fields, strict=True):
            column[place] = value

    def _columns(self) -> tuple[list[int], ...]:
        return self.count, self.key_sum, self.checksum, self.packets, self.bytes


@dataclass
class Iblt:
    """A table of flows from which they can be listed again (sfcperf.sketches.listing)."""

    shape: Shape
    cells: Cells = field(init=False)

    def __post_init__(self) -> None:
        self.cells = Cells.empty(self.shape.cells)

    def insert(self, key: bytes) -> None:
        """Algorithm 2 of SFCMon. A key that is inserted twice is lost."""
        cells = self.cells
        for place in self.shape.places(key):
            cells.count[place] = cells.count[place] + 1 & COUNT_MASK
            cells.key_sum[place] ^= self.shape.padded(key)
            cells.checksum[place] ^= self.shape.checksum(key)

    def update(self, key: bytes, size_bytes: int) -> None:
        """Algorithm 3 of SFCMon: count a packet of this size."""
        cells = self.cells
        for place in self.shape.places(key):
            cells.packets[place] = cells.packets[place] + 1 & COUNT_MASK
            cells.bytes[place] = cells.bytes[place] + size_bytes & BYTES_MASK
