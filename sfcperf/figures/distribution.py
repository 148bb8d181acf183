"""Distributions: the empirical one as steps, and when a box says something."""

from __future__ import annotations

from collections.abc import Sequence

FEWEST_FOR_A_BOX = 5
"""Trials below which a box shows fewer numbers than it draws lines for: a five-number summary."""


def steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Corners of the empirical distribution function of `values`: x in their unit, ascending, and
    the share of values that are not above x, from 0 to 1. Empty for no values."""
    ordered = sorted(values)
    if not ordered:
        return [], []
    shares = [(number + 1) / len(ordered) for number in range(len(ordered))]
    return [ordered[0], *ordered], [0.0, *shares]


def thinned(values: Sequence[float], most: int) -> list[float]:
    """At most `most` of the values, at even ranks, with the smallest and the largest: their
    distribution differs from that of all by at most 1 / (`most` - 1)."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[round(rank * (len(ordered) - 1) / (most - 1))] for rank in range(most)]


def boxed(values: Sequence[float]) -> bool:
    """Whether there are values enough for a box; fewer are shown as points alone."""
    return len(values) >= FEWEST_FOR_A_BOX
