"""Outliers among trials: marked, never dropped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt

from sfcperf.analysis.statistics.scaling import scaled

ALPHA = 0.01
"""Probability of marking any value of a set of normal values."""
METHOD = f"generalized ESD (alpha {ALPHA:g})"
LEAST = 5
"""Fewest values that are searched: of four, three that happen to agree would make the fourth an
outlier."""


def find_outliers(values: Sequence[float], alpha: float = ALPHA) -> tuple[int, ...]:
    """Return the indices of the outliers, ascending; empty for fewer than LEAST values.

    The method is the generalized extreme studentized deviate (Rosner 1983; NIST/SEMATECH e-Handbook
    1.3.5.17.3) for up to a fifth of the values. Unlike with Grubbs's test, two outliers do not mask
    each other.
    The probability of a false mark is `alpha` for all values together, whatever their number;
    box-plot fences and modified z-scores mark a value in one of ten rows of five to ten good
    trials (docs/explanation/statistics.md has the figures).
    """
    import numpy as np

    n = len(values)
    deviations = scaled(values)
    if n < LEAST or deviations is None:
        return ()
    order = [int(place) for place in np.argsort(deviations, kind="stable")]
    ordered = [float(deviations[place]) for place in order]
    low, high = 0, n - 1
    total, squares = sum(ordered), sum(value * value for value in ordered)
    removed: list[int] = []
    marked = 0
    # Each step removes the value that is farthest from the mean of the `size` values that are left.
    # If it is beyond the critical value, it is marked, and so are all that were removed before it.
    for number in range(1, max(1, n // 5) + 1):
        size = n - number + 1
        mean = total / size
        spread = sqrt(max(0.0, (squares - size * mean * mean) / (size - 1)))
        is_low = mean - ordered[low] > ordered[high] - mean
        place = low if is_low else high
        distance = abs(ordered[place] - mean)
        # The values that are left are equal up to rounding.
        if spread <= 1e-9 * distance or distance <= 1e-9:
            break
        removed.append(order[place])
        if distance / spread > _critical(n, number, alpha):
            marked = number
        low, high = (low + 1, high) if is_low else (low, high - 1)
        total -= ordered[place]
        squares -= ordered[place] ** 2
    return tuple(sorted(removed[:marked]))


@cache
def _critical(n: int, number: int, alpha: float) -> float:
    """Return Rosner's critical value (lambda) of the `number`-th largest deviate (from 1) of n
    values."""
    from scipy.special import stdtrit

    degrees = n - number - 1
    t = float(stdtrit(degrees, 1 - alpha / (2 * (n - number + 1))))
    return (n - number) * t / sqrt((degrees + t * t) * (n - number + 1))
