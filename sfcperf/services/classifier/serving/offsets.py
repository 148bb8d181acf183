"""Offsets: a set of offsets of a partition. It is kept as runs without gaps, since nearly all come
in order."""

from __future__ import annotations

from bisect import bisect_right


class Offsets:
    """A set of offsets. Its memory grows with the number of gaps, not with that of offsets."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        """First offset of each run. Runs are in order, with a gap between any two."""
        self._ends: list[int] = []
        """Offset after the last one of each run."""

    @property
    def next(self) -> int:
        """Offset after the greatest one; 0 if the set is empty."""
        return self._ends[-1] if self._ends else 0

    def add(self, offset: int) -> bool:
        """Add an offset; return whether it is new."""
        begins, ends = self._begins, self._ends
        # The run before `at` is the last one that begins at the offset or earlier.
        at = bisect_right(begins, offset)
        if at and offset < ends[at - 1]:
            return False
        joins_before = at > 0 and ends[at - 1] == offset
        joins_after = at < len(begins) and begins[at] == offset + 1
        if joins_before and joins_after:
            ends[at - 1] = ends.pop(at)
            del begins[at]
        elif joins_before:
            ends[at - 1] = offset + 1
        elif joins_after:
            begins[at] = offset
        else:
            begins.insert(at, offset)
            ends.insert(at, offset + 1)
        return True
