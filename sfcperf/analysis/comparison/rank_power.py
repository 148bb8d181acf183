"""Power of the exact rank tests for few trials, by simulation.

Formulas for their sample size are asymptotic, and wrong by a factor where a handful of trials is
enough. Here normal trials with the observed difference and dispersion are drawn (from a fixed
seed: the same data give the same answer), and tested with the exact critical value.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sfcperf.analysis.comparison import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SIMULATED = 50
"""Trials per side up to which power is simulated."""

_DRAWS = 1000
_SEED = 20210


def rank_power(n: int, effect: float, alpha: float, paired: bool) -> float:
    """Share of simulated experiments with n trials per side that reach two-sided alpha; `effect` is
    the shift in standard deviations (paired: of the differences)."""
    import numpy as np

    limit = _critical(n, alpha, paired)
    if limit is None:
        return 0.0
    noise = _noise(2 * n)
    if paired:
        d = noise[:, :n] + abs(effect)
        ranks = np.argsort(np.argsort(np.abs(d), axis=1), axis=1) + 1
        seen = np.where(d > 0, ranks, 0).sum(axis=1)
    else:
        both = np.concatenate([noise[:, :n], noise[:, n:] + abs(effect)], axis=1)
        seen = (np.argsort(np.argsort(both, axis=1), axis=1) + 1)[:, n:].sum(axis=1)
    return float((seen >= limit).mean())


@cache
def _critical(n: int, alpha: float, paired: bool) -> int | None:
    """The least sum of ranks in the upper tail whose doubled probability is <= alpha."""
    if paired:
        tail = exact.signed_rank_null(range(1, n + 1)).at_least
    else:
        tail = exact.rank_sum_null(range(2, 4 * n + 1, 2), n).at_least[::2]
    reached = (tail > 0) & (2 * tail <= alpha * (1 + 1e-9))
    return int(reached.argmax()) if reached.any() else None


@cache
def _noise(columns: int) -> NDArray[Any]:
    import numpy as np

    return np.random.default_rng(_SEED).standard_normal((_DRAWS, columns))
