"""Count-min sketch (Cormode and Muthukrishnan 2005, *Journal of Algorithms* 55)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from sfcperf.sketches.hashing import hash32, reduced

Place = Callable[[bytes, int], int]
"""Function that chooses the counter of a key in a row. It returns the counter's column."""


def columns_for(epsilon: float) -> int:
    """Return how many columns a row needs so that a key's count in it exceeds the truth by more
    than `epsilon` times the packets of the stream with a probability of at most 1/e (section
    4.1)."""
    return math.ceil(math.e / epsilon)


def rows_for(delta: float) -> int:
    """Return how many rows are needed so that the estimate, the least count of all rows, exceeds
    the truth by more than `columns_for` says with a probability of at most `delta` (section
    4.1)."""
    return max(1, math.ceil(math.log(1 / delta)))


class CountMin:
    """A count-min sketch: counters of packets by key whose estimates are never too small. Counters
    stay at their maximum instead of wrapping."""

    def __init__(
        self,
        rows: int,
        columns: int,
        bits: int,
        first_seed: int = 0,
        *,
        place: Place | None = None,
        conservative: bool = False,
    ) -> None:
        """Make a sketch of zeros whose counters have `bits` bits. `place` chooses the counters of a
        key; by default, row j hashes it with the seed `first_seed` + j. A conservative update lets
        only the smallest counters of a key grow, so estimates are the same or smaller (Estan and
        Varghese 2002, section 3.3.2)."""
        self.columns = columns
        self.cells = [[0] * columns for _ in range(rows)]
        """The counters, row by row."""
        self._first_seed = first_seed
        self._place = place or self._hashed
        self._most = (1 << bits) - 1
        self._conservative = conservative

    def add(self, key: bytes) -> int:
        """Count a packet of a key. Returns the estimate of the key's packets, this one included."""
        places = self._places(key)
        least = min(self.cells[row][column] for row, column in places)
        for row, column in places:
            count = self.cells[row][column]
            if count == least or not self._conservative:
                self.cells[row][column] = min(count + 1, self._most)
        return min(least + 1, self._most)

    def estimate(self, key: bytes) -> int:
        """Return the estimate of a key's packets. It is at least as large as the number that was
        added, unless a counter is at its maximum."""
        return min(self.cells[row][column] for row, column in self._places(key))

    def counts(self) -> Iterator[tuple[int, int, int]]:
        """Give row, column and count of each counter that is not 0."""
        for row, cells in enumerate(self.cells):
            for column, count in enumerate(cells):
                if count:
                    yield row, column, count

    def _places(self, key: bytes) -> list[tuple[int, int]]:
        """Return row and column of each counter of a key."""
        return [(row, self._place(key, row)) for row in range(len(self.cells))]

    def _hashed(self, key: bytes, row: int) -> int:
        """Choose a key's column in a row by the row's hash function (the default `Place`)."""
        return reduced(hash32(key, self._first_seed + row), self.columns)
