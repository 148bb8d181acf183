"""What a number of trials cannot show: rare modes, and differences below the resolution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, log

UNSEEN = 0.05
"""Probability of not seeing a mode that is just frequent enough to count as seen."""


def rarest_mode(n: int) -> float:
    """Return the share of trials above which a mode is seen in n trials with a probability of 95 %;
    1 for n = 0.

    A mode that occurs in a share p of all trials is absent from n of them with a probability of
    (1 - p)^n, so n trials say nothing about modes rarer than 1 - 0.05^(1/n).
    """
    return 1 - float(UNSEEN ** (1 / n)) if n else 1.0


def least_to_see(share: float) -> int:
    """Return the fewest trials in which a mode of this share (0 < share < 1) is seen with a
    probability of 95 %: the inverse of `rarest_mode`."""
    # Without the subtraction, rounding would add a trial where the quotient is a whole number.
    return ceil(log(UNSEEN) / log(1 - share) - 1e-9)


def tick_of(values: Sequence[float], declared: float | None = None) -> float | None:
    """Return the resolution of values, in their unit: as declared, or, if many values are tied, the
    smallest distance of two that differ.

    None if there are too few ties to tell (fewer than half of the values repeat another), or if all
    values are equal: then the resolution may be anything.
    """
    if declared is not None:
        return declared
    distinct = sorted(set(values))
    if len(distinct) < 2 or 2 * len(distinct) > len(values):
        return None
    return min(high - low for low, high in pairwise(distinct))
