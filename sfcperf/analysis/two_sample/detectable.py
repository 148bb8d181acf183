"""The smallest change that so many trials can show, before any has been measured."""

from __future__ import annotations

from sfcperf.analysis.two_sample.rank_power import rank_power
from sfcperf.analysis.two_sample.sample_size import POWER

_MOST = 100.0
"""Standard deviations: a larger change is seen without a test."""
_STEP = 0.01


def smallest_shift(n: int, alpha: float, *, paired: bool = False) -> float | None:
    """The shift, in standard deviations of the trials (paired: of their differences), that the
    exact rank test with `n` trials per side finds with probability POWER at the two-sided level
    `alpha`, for normal trials. None: no shift at all, because n is too small for the test."""
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
