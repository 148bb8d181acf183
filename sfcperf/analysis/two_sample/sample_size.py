"""How many trials per side would decide if difference and dispersion were as observed.

The result is a rough guide, because the observed values are themselves uncertain: it tells 8 trials
from 80, but not from 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, pi, sqrt
from typing import Literal

from sfcperf.analysis.two_sample.rank_power import MOST, MOST_SIMULATED, least_trials, rank_power
from sfcperf.analysis.two_sample.shift import stdev, variance

POWER = 0.8
"""Probability of a decision with the trials that are advised: 4 of 5 cases."""

_RANKS_FOR_T = pi / 3
"""Trials that rank tests need per trial of a t test, for normal values (Hodges & Lehmann 1956)."""

_MIDDLES = [(i + 0.5) / 2000 for i in range(2000)]
"""Probabilities at which `t_power` takes quantiles of the estimated dispersion."""

Purpose = Literal["", "difference", "equivalence"]


@dataclass(frozen=True)
class SampleSize:
    """A number of trials (per side), rounds or runs that would decide a row."""

    n: int | None
    """None if no number that anyone runs would decide it."""
    purpose: Purpose
    """What so many would show; empty without a number."""


@dataclass(frozen=True)
class ObservedTrials:
    """What was observed and how it is tested: the input of a sample size. Values are on the tested
    scale."""

    a: Sequence[float]
    b: Sequence[float]
    paired: bool
    ranks: bool
    """Whether the deciding test is Wilcoxon's; otherwise it is Student's t."""
    shift: float
    alpha: float
    """Two-sided level of the test of a difference: that of the first step of Holm's correction."""
    alpha_tost: float
    """Level of each of the two one-sided tests of equivalence."""
    bounds: tuple[float, float] | None
    """The margin; None if equivalence is not asked for."""


def needed(trials: ObservedTrials, least: int | None = None) -> SampleSize:
    """Return how many trials would show a difference or equivalence, whichever needs fewer. It is
    at least `least`; None: one more than there are, because these have not decided."""
    fewest = max(len(trials.a), len(trials.b)) + 1 if least is None else least
    different, equal = _for_difference(trials), _for_equivalence(trials)
    if equal is not None and equal <= MOST and (different is None or equal < different):
        return SampleSize(max(equal, fewest), "equivalence")
    if different is not None and different <= MOST:
        return SampleSize(max(different, fewest), "difference")
    return SampleSize(None, "")


def _for_difference(trials: ObservedTrials) -> int | None:
    """Return how many trials would show a difference; None if none was seen, or if MOST trials are
    not enough for a t test. For a rank test the number comes from simulation if few trials are
    enough; else from Noether, "Sample size determination for some common nonparametric tests", JASA
    82, 1987."""
    if not trials.ranks:
        return _by_t(trials)
    spread = _spread(trials)
    if spread and trials.shift:
        effect = trials.shift / spread
        few = _smallest(
            lambda n: rank_power(n, effect, trials.alpha, trials.paired), most=MOST_SIMULATED
        )
        if few is not None:
            return few
    share = _share_above(trials)
    if share == 0.5:
        return None
    from scipy.special import ndtri

    z = float(ndtri(1 - trials.alpha / 2) + ndtri(POWER))
    count = ceil(z * z / ((3 if trials.paired else 6) * (share - 0.5) ** 2))
    return max(count, least_trials(trials.alpha, trials.paired))


def _share_above(trials: ObservedTrials) -> float:
    """Return the observed P(b > a), ties counted half; for pairs the probability that the mean of
    two differences is above 0. Noether's formula takes it as the effect size."""
    import numpy as np

    a, b = np.asarray(trials.a), np.asarray(trials.b)
    if trials.paired:
        i, j = np.triu_indices(len(a), 1)
        sums = (b - a)[i] + (b - a)[j]
    else:
        sums = np.subtract.outer(b, a)
    return float((sums > 0).mean() + (sums == 0).mean() / 2)


def _by_t(trials: ObservedTrials) -> int | None:
    """Return how many trials the t test needs to show the observed shift; None without a shift,
    without dispersion, or if MOST trials are not enough."""
    spread = _spread(trials)
    if not spread or not trials.shift:
        return None
    effect = abs(trials.shift) / spread
    return _smallest(lambda n: t_power(n, effect, trials.alpha, trials.paired))


def t_power(n: int, effect: float, alpha: float, paired: bool) -> float:
    """Return the power of the two-sided t test with n trials per side, within 1e-3. `effect` is the
    shift in standard deviations (paired: of the differences). Source: Cohen, Statistical Power
    Analysis for the Behavioral Sciences (2nd ed.), section 2.5.

    It is computed as the mean power over quantiles of the estimated dispersion, because SciPy's
    noncentral t distribution gives NaN for large effects."""
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtrit

    freedom = n - 1 if paired else 2 * n - 2
    centre = effect * sqrt(n if paired else n / 2)
    # Standard deviations that may be estimated, relative to the true one.
    estimated = np.sqrt(chdtri(freedom, _MIDDLES) / freedom)
    limit = float(stdtrit(freedom, 1 - alpha / 2)) * estimated
    return float(np.mean(ndtr(centre - limit) + ndtr(-centre - limit)))


def _for_equivalence(trials: ObservedTrials) -> int | None:
    """Return how many trials would show equivalence, by the power of the two one-sided t tests
    (Schuirmann 1987; Chow, Shao & Wang, Sample Size Calculations in Clinical Research, chapter 3).
    Rank tests need more by their relative efficiency. None if the shift is not within the margin,
    or if no number would do."""
    if trials.bounds is None or not trials.bounds[0] < trials.shift < trials.bounds[1]:
        return None
    from scipy.special import stdtr, stdtrit

    spread, (low, high) = _spread(trials), trials.bounds

    def power(n: int) -> float:
        """Return about the probability that both tests reject with n trials per side."""
        freedom = n - 1 if trials.paired else 2 * n - 2
        error = spread * sqrt((1 if trials.paired else 2) / n)
        limit = float(stdtrit(freedom, 1 - trials.alpha_tost))
        ends = (high - trials.shift, trials.shift - low)
        return float(sum(stdtr(freedom, end / error - limit) for end in ends)) - 1

    # Without dispersion two trials show it, and the power has no value.
    count = _smallest(power) if spread else 2
    if count is None or not trials.ranks:
        return count
    return max(ceil(count * _RANKS_FOR_T), least_trials(trials.alpha_tost, trials.paired, sided=1))


def _spread(trials: ObservedTrials) -> float:
    """Return the standard deviation of trials, pooled over both sides; paired: that of
    differences."""
    if trials.paired:
        return stdev([y - x for x, y in zip(trials.a, trials.b, strict=True)])
    return sqrt((variance(trials.a) + variance(trials.b)) / 2)


def _smallest(power: Callable[[int], float], most: int = MOST) -> int | None:
    """Return the least n whose power is POWER, by bisection: power grows with n. None if `most`
    trials are not enough."""
    low, high = 2, 2
    while power(high) < POWER:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle + 1, high)
    return high
