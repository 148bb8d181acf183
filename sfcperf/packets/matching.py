"""Matches the packets that were seen on both sides of a VNF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

Seen = tuple[Hashable, int]
"""What a packet is recognised by, and when it was seen [ns]."""


@dataclass(frozen=True)
class MatchedPackets:
    """Packets that were seen on both sides, and how many were not."""

    crossings: tuple[tuple[int, int], ...]
    """Pairs, one for each packet that was seen on both sides: when it left [ns], and how long it
    had been inside [ns]. They are in the order in which packets left."""
    only_entered: int
    """Packets that were only seen on the way in. The VNF dropped them, they were still inside when
    the capture ended, or the other capture missed them."""
    only_left: int
    """Packets that were only seen on the way out. They were inside when the capture began, the VNF
    made them, or the other capture missed them."""
    ambiguous: int
    """Packets that entered and look like others, where a different number of these left. They are
    not paired."""


def match(entered: Iterable[Seen], left: Iterable[Seen]) -> MatchedPackets:
    """Pair packets that entered a VNF with those that left it, if they look the same.

    If several packets look the same and all of them left, the first that entered is paired with the
    first that left: the mean of their times is right in whichever order they left. If some did not
    leave, it cannot be told which, and none is paired.
    """
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
            # It left before it entered, so these are two packets that look the same.
            only_entered, only_left = only_entered + 1, only_left + 1
        else:
            ambiguous += len(before)
    only_left += sum(len(times) for key, times in outs.items() if key not in ins)
    return MatchedPackets(tuple(sorted(crossings)), only_entered, only_left, ambiguous)


def _times(crossings: Iterable[Seen]) -> dict[Hashable, list[int]]:
    """Return the times of each packet, sorted: two processors may write their packets to a capture
    in another order."""
    times: defaultdict[Hashable, list[int]] = defaultdict(list)
    for key, time_ns in crossings:
        times[key].append(time_ns)
    for found in times.values():
        found.sort()
    return dict(times)
