"""Percentiles, only those for which there are enough values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def percentiles(values: Sequence[float], percents: Sequence[int]) -> Mapping[int, float | None]:
    """Return percentile (1 ... 99) -> its estimate in the unit of the values; None if there are too
    few values.

    The k-th smallest of n values is the fraction k / (n + 1), with linear interpolation
    (definition 6 of Hyndman & Fan 1996). There is no estimate below 1 / (n + 1): the 5th
    percentile of ten trials would only be the smallest trial. Hence p5 and p95 need 19 values, p25
    and p75 need three, p99 needs 99.
    """
    n = len(values)
    # From either end, the place of the percentile is not before the first value.
    known = [p for p in percents if (n + 1) * min(p, 100 - p) >= 100]
    if not known:
        return dict.fromkeys(percents)
    ordered = sorted(map(float, values))
    # The place of a percentile is (n + 1) p / 100, less 1 because it counts from 0.
    return dict.fromkeys(percents) | {
        p: _between(ordered, n * (p / 100) + p / 100 - 1) for p in known
    }


def _between(ordered: Sequence[float], place: float) -> float:
    """Interpolate the value at a position, which counts from 0 and may be fractional."""
    left = min(max(int(place), 0), len(ordered) - 2)
    share = place - left
    low, high = ordered[left], ordered[left + 1]
    # Computed from the nearer of both values, as numpy.quantile does: at either one, it is exact.
    step = high - low
    return low + step * share if share < 0.5 else high - step * (1 - share)
