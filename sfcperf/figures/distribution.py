"""Empirical distributions as steps, and how many trials a box needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics import Rules
from sfcperf.analysis.statistics.typical import typical_percentiles

MIN_TRIALS_FOR_BOX = 5
"""Fewest trials that get a box, which draws five numbers; fewer are shown as points alone."""


@dataclass(frozen=True)
class BandPoint:
    """The interval of one percentile of a typical trial, in the unit of the samples."""

    percent: int
    value: float
    low: float
    high: float


def band(trials: Sequence[Sequence[float]], rules: Rules) -> list[BandPoint]:
    """Return the pointwise band of the distribution within a typical trial, by intervals over
    trials. Percentiles that the trials are too short for are left out (see `typical_percentiles`).
    Empty if any other percentile has no interval, as with few trials: the band would be drawn
    across the gap."""
    found = typical_percentiles(trials, range(1, 100), rules)
    known = {percent: estimate for percent, estimate in found.items() if estimate.value is not None}
    points = [
        BandPoint(percent, estimate.value, estimate.interval.low, estimate.interval.high)
        for percent, estimate in known.items()
        if estimate.value is not None and estimate.interval is not None
    ]
    return points if len(points) == len(known) else []


def steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the corners of the empirical distribution function of `values`: x in their unit,
    ascending, and the share of values that are not above x, from 0 to 1. Empty without values."""
    ordered = sorted(values)
    if not ordered:
        return [], []
    shares = [(number + 1) / len(ordered) for number in range(len(ordered))]
    return [ordered[0], *ordered], [0.0, *shares]


def thinned(values: Sequence[float], most: int) -> list[float]:
    """Return at most `most` of the values, at even ranks, with the smallest and the largest. Their
    distribution differs from that of all values by at most 1 / (`most` - 1)."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[round(rank * (len(ordered) - 1) / (most - 1))] for rank in range(most)]
