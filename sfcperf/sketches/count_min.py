"""Count-min sketch (Cormode and Muthukrishnan 2005, *Journal of Algorithms* 55)."""

from __future__ import annotations

import math

from sfcperf.sketches.hashing import hash32, reduced


def columns_for(epsilon: float) -> int:
    """Columns with which estimates exceed the truth by at most `epsilon` times the packets of the
    stream, in each row with probability 1 - 1/e (section 4.1)."""
    return math.ceil(math.e / epsilon)


def rows_for(delta: float) -> int:
    """Rows with which this fails in all of them with probability `delta` (section 4.1)."""
    return max(1, math.ceil(math.log(1 / delta)))


class CountMin:
    """Counters that never underestimate; they stay at their maximum instead of wrapping."""

    def __init__(self, rows: int, columns: int, bits: int, first_seed: int) -> None:
        """Row j hashes with `first_seed` + j; counters have so many bits."""
        self.columns = columns
        self.cells = [[0] * columns for _ in range(rows)]
        self._first_seed = first_seed
        self._most = (1 << bits) - 1

    def add(self, key: bytes) -> int:
        """Count a packet. Returns the estimate, this packet included."""
        counts = []
        for row, cells in enumerate(self.cells):
            column = reduced(hash32(key, self._first_seed + row), self.columns)
            cells[column] = min(cells[column] + 1, self._most)
            counts.append(cells[column])
        return min(counts)
