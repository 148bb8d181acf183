"""The smallest change that a number of trials can show, before any trial has been measured."""

from __future__ import annotations

from sfcperf.analysis.two_sample.rank_power import rank_power
from sfcperf.analysis.two_sample.sample_size import POWER

_MOST = 100.0
"""Largest shift that is searched, in standard deviations: a larger one is seen without a test."""
_STEP = 0.01
"""Precision of the result, in standard deviations."""


def smallest_shift(n: int, alpha: float, *, paired: bool = False) -> float | None:
    """Return the smallest shift, in standard deviations of the trials (paired: of their
    differences), that the exact rank test with `n` trials per side finds with probability POWER at
    the two-sided level `alpha`, for normal trials. None if n is too small to find any shift."""
    if rank_power(n, _MOST, alpha, paired) < POWER:
        return None
    low, high = 0.0, _MOST
    while high - low > _STEP:
        middle = (low + high) / 2
        if rank_power(n, middle, alpha, paired) >= POWER:
            high = middle
        else:
            low = middle
    return high
