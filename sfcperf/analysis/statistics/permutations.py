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
"""All 5040 orders of so many values are tried."""
_FEW, _ENOUGH_HITS = 99, 10
_MANY = 1999
_STEP = 613
"""Offset between the random orders of successive repetitions; prime to _MANY, so all differ."""
_SEED = 20_230_817


def permutation_p(
    repetitions: NDArray[float64], statistic: Callable[[NDArray[float64]], NDArray[float64]]
) -> float:
    """One-sided p-value of the order of values; large statistics are extreme.

    `repetitions` (r, n) are repetitions of one series. Each is shuffled on its own, so that what
    they have in common at one position does not look like chance. `statistic` maps their means
    over the repetitions, one series per row (m, n), to m numbers. One series of up to seven values
    is tried in all orders, otherwise in 99 random ones, and in 1999 unless 10 of the 99 were as
    extreme (Besag & Clifford 1991: a clearly insignificant p need not be exact). The random orders
    are the same in every run: the same trials give the same p.
    """
    count, n = repetitions.shape
    observed = float(statistic(repetitions.mean(axis=0)[None, :])[0])
    threshold = observed - 1e-12 * max(1.0, abs(observed))
    if count == 1 and n <= _EXACT_UP_TO:
        return float((statistic(repetitions[0][_all_orders(n)]) >= threshold).mean())
    for tried in (_FEW, _MANY):
        hits = int((statistic(_shuffled(repetitions, tried)) >= threshold).sum())
        if hits >= _ENOUGH_HITS:
            break
    return (hits + 1) / (tried + 1)


def _shuffled(repetitions: NDArray[float64], tried: int) -> NDArray[float64]:
    """Means over the repetitions, each in `tried` random orders of its own: (tried, n)."""
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
    import numpy as np

    return np.array(list(itertools.permutations(range(n))))


@cache
def _random_orders(n: int) -> NDArray[intp]:
    """Random orders from RandomState, which guarantees the same stream in all versions."""
    import numpy as np

    keys = np.random.RandomState(_SEED).random_sample((_MANY, n))
    return np.argsort(keys, axis=1)
