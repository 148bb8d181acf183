"""Permutation tests: how often shuffled values are as extreme as those in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64, intp
    from numpy.typing import NDArray

_EXACT_UP_TO = 7
"""5040 orders: all of them are tried."""
_FEW, _ENOUGH_HITS = 99, 10
_MANY = 1999
_STEP = 613
"""Between the random orders of one repetition and the next; prime to _MANY, so that all differ."""
_SEED = 20_230_817


def permutation_p(
    repetitions: NDArray[float64], statistic: Callable[[NDArray[float64]], NDArray[float64]]
) -> float:
    """One-sided p-value of the order of values; large statistics are extreme.

    `repetitions` (r, n): series that repeat each other, each shuffled on its own, so that what
    they have in common at a place does not look like chance. `statistic` maps their means over
    the repetitions, one series per row (m, n), to m numbers. One series of up to seven values is
    tried in all orders; otherwise 99 random ones, and 1999 unless 10 of these were as extreme
    already (Besag & Clifford 1991: what is clearly insignificant need not be known exactly). The
    random orders are the same in every run: the same trials give the same p.
    """
    count, n = repetitions.shape
    seen = float(statistic(repetitions.mean(axis=0)[None, :])[0])
    bar = seen - 1e-12 * max(1.0, abs(seen))
    if count == 1 and n <= _EXACT_UP_TO:
        return float((statistic(repetitions[0][_all(n)]) >= bar).mean())
    for tried in (_FEW, _MANY):
        hits = int((statistic(_shuffled(repetitions, tried)) >= bar).sum())
        if hits >= _ENOUGH_HITS:
            break
    return (hits + 1) / (tried + 1)


def _shuffled(repetitions: NDArray[float64], tried: int) -> NDArray[float64]:
    """Means over the repetitions, each in `tried` random orders of its own: (tried, n)."""
    import numpy as np

    count, n = repetitions.shape
    orders = _random(n)
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
def _all(n: int) -> NDArray[intp]:
    import numpy as np

    return np.array(list(itertools.permutations(range(n))))


@cache
def _random(n: int) -> NDArray[intp]:
    """Random orders. From RandomState: its stream is frozen, those of newer generators are not."""
    import numpy as np

    keys = np.random.RandomState(_SEED).random_sample((_MANY, n))
    return np.argsort(keys, axis=1)
