"""Percentiles, only where the data reach them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def percentiles(values: Sequence[float], asked: Sequence[int]) -> Mapping[int, float | None]:
    """Percentile (1 ... 99) -> its estimate in the unit of the values; None for one that lies
    beyond what n values can tell.

    The k-th smallest of n values stands for the fraction k / (n + 1), with straight lines between
    (definition 6 of Hyndman & Fan 1996). Below 1 / (n + 1) there is no value to speak of: the 5th
    percentile of ten trials would be the smallest trial under a name that promises more. Hence
    p5 and p95 need 19 values, p25 and p75 three, p99 needs 99.
    """
    n = len(values)
    known = [p for p in asked if (n + 1) * min(p, 100 - p) >= 100]
    if not known:
        return dict.fromkeys(asked)
    ordered = sorted(map(float, values))
    return dict.fromkeys(asked) | {p: _between(ordered, n * (p / 100) + p / 100 - 1) for p in known}


def _between(ordered: Sequence[float], place: float) -> float:
    """The value at a place counted from 0, which need not be whole."""
    left = min(max(int(place), 0), len(ordered) - 2)
    share = place - left
    low, high = ordered[left], ordered[left + 1]
    # From the nearer of both, as numpy.quantile does: each is met exactly.
    step = high - low
    return low + step * share if share < 0.5 else high - step * (1 - share)
