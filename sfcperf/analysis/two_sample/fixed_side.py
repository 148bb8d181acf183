"""How many trials one side needs if the other side is given, as the runs of a package are."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from sfcperf.analysis.two_sample.rank_power import MOST
from sfcperf.analysis.two_sample.sample_size import POWER
from sfcperf.analysis.two_sample.shift import stdev

_FEWEST = 5
"""Fewest trials that are advised: rank tests against many trials need so many."""


def trials_beside(
    a: Sequence[float],
    b: Sequence[float],
    shift: float,
    bounds: tuple[float, float],
    alpha: float,
    least: int,
) -> int | None:
    """Return how many trials of b would show in 4 of 5 cases that the shift is within `bounds`, or
    beyond them if it was seen there, provided that shift and dispersions are as observed.

    The trials of `a` are given. `alpha`: level of each of the two one-sided tests of equivalence,
    and two-sided level of a shift beyond the bounds; `least`: fewest trials that each side needs
    for equivalence. None if no number of trials would do, because a's own uncertainty is too large
    or it has fewer trials than `least`, and for fewer than two trials on a side.
    """
    within = bounds[0] < shift < bounds[1]
    if min(len(a), len(b)) < 2 or (within and len(a) < least):
        return None
    of_a, of_b = stdev(a) ** 2 / len(a), stdev(b) ** 2

    def power(n: int) -> float:
        """Return the probability that n trials of b show it."""
        from scipy.special import stdtr, stdtrit

        error = sqrt(of_a + of_b / n)
        if not error:
            return 1.0
        # Welch's degrees of freedom (Welch-Satterthwaite).
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
