"""What n trials, read in ticks, cannot see: rare modes, and differences below the resolution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, log

UNSEEN = 0.05
"""Probability of not seeing a mode that is only just not rare."""


def rarest_mode(n: int) -> float:
    """Share of trials above which a mode is seen in n trials with a probability of 95 %.

    A mode that occurs in a share p of all trials is absent from n of them with (1 - p)^n: what n
    trials show says nothing about modes rarer than 1 - 0.05^(1/n). 1 for n = 0.
    """
    return 1 - float(UNSEEN ** (1 / n)) if n else 1.0


def least_to_see(share: float) -> int:
    """The fewest trials in which a mode of this share (0 < share < 1) is seen with 95 %."""
    return ceil(log(UNSEEN) / log(1 - share) - 1e-9)


def tick_of(values: Sequence[float], declared: float | None = None) -> float | None:
    """The resolution of values, in their unit: as declared, or what their ties tell.

    None if there are too few ties to tell (at most half of the values repeat another), or if all
    are equal, when the resolution may be anything.
    """
    if declared is not None:
        return declared
    distinct = sorted(set(values))
    if len(distinct) < 2 or 2 * len(distinct) > len(values):
        return None
    return min(high - low for low, high in pairwise(distinct))
