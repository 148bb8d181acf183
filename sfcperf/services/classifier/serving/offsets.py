"""Offsets of a partition, as runs without gaps: nearly all come in order."""

from __future__ import annotations

from bisect import bisect_right


class Offsets:
    """A set. Its size is that of its gaps, whatever is in it."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        """After the last of each run. Runs are in order, and there is a gap between two."""

    @property
    def next(self) -> int:
        """After the greatest; 0 of none."""
        return self._ends[-1] if self._ends else 0

    def add(self, offset: int) -> bool:
        """Gives whether it is new."""
        begins, ends = self._begins, self._ends
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
