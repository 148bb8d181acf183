"""The same packets on both sides of a VNF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

Seen = tuple[Hashable, int]
"""What tells a packet from others, and when it was seen [ns]."""


@dataclass(frozen=True)
class MatchedPackets:
    """Packets that were seen on both sides, and how many were not."""

    crossings: tuple[tuple[int, int], ...]
    """When the packet left [ns], in order, and how long it had been inside [ns]."""
    only_entered: int
    """Seen on the way in alone: dropped by the VNF, inside when the capture ended, or missed."""
    only_left: int
    """Seen on the way out alone: inside when the capture began, made by the VNF, or missed."""
    ambiguous: int
    """Packets that went in, alike, of which not all came out again (or more came out)."""


def match(entered: Iterable[Seen], left: Iterable[Seen]) -> MatchedPackets:
    """Pair what is alike. Of several packets that are alike, when all came out, the first in is
    taken for the first out: their mean is right in whichever order they left. When some did not,
    nobody can tell which, and none is paired."""
    ins, outs = _times(entered), _times(left)
    crossings: list[tuple[int, int]] = []
    only_entered = only_left = ambiguous = 0
    for key, before in ins.items():
        after = outs.get(key, [])
        pairs = list(zip(before, after, strict=False))
        if not after:
            only_entered += len(before)
        elif len(before) == len(after) and all(out >= into for into, out in pairs):
            crossings += [(out, out - into) for into, out in pairs]
        elif len(before) == len(after) == 1:
            only_entered, only_left = only_entered + 1, only_left + 1
        else:
            ambiguous += len(before)
    only_left += sum(len(times) for key, times in outs.items() if key not in ins)
    return MatchedPackets(tuple(sorted(crossings)), only_entered, only_left, ambiguous)


def _times(crossings: Iterable[Seen]) -> dict[Hashable, list[int]]:
    """By packet, in order of time: two processors may write their packets in another one."""
    times: defaultdict[Hashable, list[int]] = defaultdict(list)
    for key, time_ns in crossings:
        times[key].append(time_ns)
    for found in times.values():
        found.sort()
    return dict(times)
