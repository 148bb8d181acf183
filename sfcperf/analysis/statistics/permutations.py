"""Permutation tests: how often shuffled values are as extreme as the values in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64, intp
    from numpy.typing import NDArray

_EXACT_UP_TO = 7
"""Most values of which all orders are tried: 7! = 5040."""
_FEW, _ENOUGH_HITS = 99, 10
"""Random orders that are tried first, and how many extreme ones among them end the test."""
_MANY = 1999
"""Random orders that are tried if the first ones do not end the test."""
_STEP = 613
"""Offset between the first random orders of successive repetitions. It shares no divisor with
_MANY, so up to _MANY repetitions are shuffled differently."""
_SEED = 20_230_817


def permutation_p(
    repetitions: NDArray[float64], statistic: Callable[[NDArray[float64]], NDArray[float64]]
) -> float:
    """Return the one-sided p-value of the order of values: how often shuffled values have a
    statistic as large as that of the values in order.

    `repetitions` (r, n) are r repetitions of one series. Each is shuffled on its own, so that what
    they have in common at one position does not look like chance. `statistic` maps means over the
    repetitions, one shuffled series per row (m, n), to m numbers. One series of up to seven values
    is tried in all orders. Otherwise 99 random orders are tried, and 1999 unless 10 of the 99 were
    as extreme (Besag & Clifford 1991: a clearly insignificant p need not be exact). The random
    orders are the same in every run, so the same trials give the same p.
    """
    count, n = repetitions.shape
    observed = float(statistic(repetitions.mean(axis=0)[None, :])[0])
    # The tolerance counts orders whose statistic is smaller by rounding only.
    threshold = observed - 1e-12 * max(1.0, abs(observed))
    if count == 1 and n <= _EXACT_UP_TO:
        return float((statistic(repetitions[0][_all_orders(n)]) >= threshold).mean())
    for tried in (_FEW, _MANY):
        hits = int((statistic(_shuffled(repetitions, tried)) >= threshold).sum())
        if hits >= _ENOUGH_HITS:
            break
    # The order of the values as they are counts as one of those tried.
    return (hits + 1) / (tried + 1)


def _shuffled(repetitions: NDArray[float64], tried: int) -> NDArray[float64]:
    """Shuffle each repetition in `tried` random orders of its own, and return the mean over the
    repetitions for each of these: (tried, n)."""
    import numpy as np

    count, n = repetitions.shape
    orders = _random_orders(n)
    sums = np.zeros((tried, n))
    for number, values in enumerate(repetitions):
        first = number * _STEP % _MANY
        if first + tried <= _MANY:
            chosen = orders[first : first + tried]
        else:
            chosen = orders[(np.arange(tried) + first) % _MANY]
        sums += values[chosen]
    means: NDArray[float64] = sums / count
    return means


@cache
def _all_orders(n: int) -> NDArray[intp]:
    """Return all permutations of 0 ... n - 1, one per row; cached, because rows share them."""
    import numpy as np

    return np.array(list(itertools.permutations(range(n))))


@cache
def _random_orders(n: int) -> NDArray[intp]:
    """Return _MANY random permutations of 0 ... n - 1, one per row. RandomState guarantees the same
    stream in all versions of numpy."""
    import numpy as np

    keys = np.random.RandomState(_SEED).random_sample((_MANY, n))
    return np.argsort(keys, axis=1)
