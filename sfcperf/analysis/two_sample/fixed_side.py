"""How many trials one side needs where the other side's number is fixed, as that of a package."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from sfcperf.analysis.two_sample.rank_power import MOST
from sfcperf.analysis.two_sample.sample_size import POWER
from sfcperf.analysis.two_sample.shift import stdev

_FEWEST = 5
"""Rank tests beside many trials need no more, but no fewer either."""


def trials_beside(
    a: Sequence[float],
    b: Sequence[float],
    shift: float,
    bounds: tuple[float, float],
    alpha: float,
    least: int,
) -> int | None:
    """Trials of b that show in 4 of 5 cases that the shift is within `bounds`, or beyond them if it
    was seen there, provided that shift and dispersions are as observed.

    `a` stays as it is; for equivalence both sides need `least` trials. None where no number of
    trials would do, because a's own uncertainty is too large.
    """
    within = bounds[0] < shift < bounds[1]
    if min(len(a), len(b)) < 2 or (within and len(a) < least):
        return None
    of_a, of_b = stdev(a) ** 2 / len(a), stdev(b) ** 2

    def power(n: int) -> float:
        from scipy.special import stdtr, stdtrit

        error = sqrt(of_a + of_b / n)
        if not error:
            return 1.0
        # Welch's.
        freedom = error**4 / (of_a**2 / (len(a) - 1) + (of_b / n) ** 2 / (n - 1))
        limit = float(stdtrit(freedom, 1 - (alpha if within else alpha / 2)))
        ends = [(bounds[1] - shift) / error, (shift - bounds[0]) / error]
        if within:
            return float(sum(stdtr(freedom, end - limit) for end in ends)) - 1
        return float(stdtr(freedom, -min(ends) - limit))

    if power(MOST) < POWER:
        return None
    low, high = _FEWEST, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle + 1, high)
    return max(low, least) if within else low
