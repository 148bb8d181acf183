"""Power of the exact rank tests for few trials, by simulation.

Formulas for the sample size of rank tests are asymptotic, and wrong by a factor if a few trials are
enough. The simulation draws normal trials with the observed difference and dispersion, and tests
them with the exact critical value. Its seed is fixed, so the same data give the same answer.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import TYPE_CHECKING, Any

from sfcperf.analysis.two_sample.exact_ranks import rank_sum_null, signed_rank_null

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SIMULATED = 50
"""Most trials per side for which power is simulated."""

MOST = 10_000
"""Most trials per side that are advised; nobody runs more."""

_DRAWS = 1000
"""Number of simulated experiments."""
_SEED = 20210


def least_trials(alpha: float, paired: bool, sided: int = 2) -> int:
    """Return the fewest trials per side with which the exact rank test can reach alpha; MOST if no
    number below that is enough. Its least p is `sided` / 2^n for n pairs, and `sided` / C(2n, n)
    for groups of n. `sided`: 2 for the two-sided test, 1 for a one-sided one."""
    for n in range(2, MOST):
        p = sided * (0.5**n if paired else 1 / comb(2 * n, n))
        # The factor lets a p count that exceeds alpha by rounding only.
        if p <= alpha * (1 + 1e-9):
            return n
    return MOST


def rank_power(n: int, effect: float, alpha: float, paired: bool) -> float:
    """Return the share of simulated experiments with n trials per side that reach two-sided alpha.
    `effect` is the shift in standard deviations (paired: of the differences)."""
    import numpy as np

    limit = _critical(n, alpha, paired)
    if limit is None:
        return 0.0
    # The sign of the shift does not matter: it is made positive, and the upper tail is counted.
    noise = _noise(2 * n)
    if paired:
        d = noise[:, :n] + abs(effect)
        ranks = np.argsort(np.argsort(np.abs(d), axis=1), axis=1) + 1
        statistic = np.where(d > 0, ranks, 0).sum(axis=1)
    else:
        both = np.concatenate([noise[:, :n], noise[:, n:] + abs(effect)], axis=1)
        statistic = (np.argsort(np.argsort(both, axis=1), axis=1) + 1)[:, n:].sum(axis=1)
    return float((statistic >= limit).mean())


@cache
def _critical(n: int, alpha: float, paired: bool) -> int | None:
    """Return the least sum of ranks whose upper tail, doubled, is at most alpha; None if n is too
    small for any."""
    if paired:
        tail = signed_rank_null(range(1, n + 1)).at_least
    else:
        # Ranks are doubled there: every other index is a sum of ranks.
        tail = rank_sum_null(range(2, 4 * n + 1, 2), n).at_least[::2]
    # A sum with a tail of 0 cannot occur.
    reached = (tail > 0) & (2 * tail <= alpha * (1 + 1e-9))
    return int(reached.argmax()) if reached.any() else None


@cache
def _noise(columns: int) -> NDArray[Any]:
    """Return _DRAWS rows of standard normal numbers; the same ones in every call."""
    import numpy as np

    return np.random.default_rng(_SEED).standard_normal((_DRAWS, columns))
