"""How many trials per side would decide if difference and dispersion were as observed.

A rough guide, because the observed values are themselves uncertain: it tells 8 from 80, not from 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, pi, sqrt
from typing import Literal

from sfcperf.analysis.two_sample.rank_power import MOST, MOST_SIMULATED, least_trials, rank_power
from sfcperf.analysis.two_sample.shift import stdev, variance

POWER = 0.8

_RANKS_FOR_T = pi / 3
"""Trials that rank tests need per trial of a t test, for normal values (Hodges & Lehmann 1956)."""

_MIDDLES = [(i + 0.5) / 2000 for i in range(2000)]

Purpose = Literal["", "difference", "equivalence"]


@dataclass(frozen=True)
class SampleSize:
    """Trials per side, or rounds."""

    n: int | None
    purpose: Purpose


@dataclass(frozen=True)
class ObservedTrials:
    """The trials, on the tested scale."""

    a: Sequence[float]
    b: Sequence[float]
    paired: bool
    ranks: bool
    """The deciding test is Wilcoxon's."""
    shift: float
    alpha: float
    """Two-sided, that of the first step of Holm's correction."""
    alpha_tost: float
    bounds: tuple[float, float] | None


def needed(trials: ObservedTrials, least: int | None = None) -> SampleSize:
    """Trials for showing a difference or equivalence, whichever needs fewer; at least `least`, by
    default one more than there are."""
    fewest = max(len(trials.a), len(trials.b)) + 1 if least is None else least
    different, equal = _for_difference(trials), _for_equivalence(trials)
    if equal is not None and equal <= MOST and (different is None or equal < different):
        return SampleSize(max(equal, fewest), "equivalence")
    if different is not None and different <= MOST:
        return SampleSize(max(different, fewest), "difference")
    return SampleSize(None, "")


def _for_difference(trials: ObservedTrials) -> int | None:
    """By simulation if few trials are enough, else by Noether, "Sample size determination for
    some common nonparametric tests", JASA 82, 1987."""
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
    """P(b > a); for pairs: P(the mean of two differences is above 0)."""
    import numpy as np

    a, b = np.asarray(trials.a), np.asarray(trials.b)
    if trials.paired:
        i, j = np.triu_indices(len(a), 1)
        sums = (b - a)[i] + (b - a)[j]
    else:
        sums = np.subtract.outer(b, a)
    return float((sums > 0).mean() + (sums == 0).mean() / 2)


def _by_t(trials: ObservedTrials) -> int | None:
    """By the power of the t test."""
    spread = _spread(trials)
    if not spread or not trials.shift:
        return None
    effect = abs(trials.shift) / spread
    return _smallest(lambda n: t_power(n, effect, trials.alpha, trials.paired))


def t_power(n: int, effect: float, alpha: float, paired: bool) -> float:
    """Power of the two-sided t test with n trials per side, within 1e-3: `effect` is the shift in
    standard deviations (paired: of the differences). Cohen, Statistical Power Analysis for the
    Behavioral Sciences (2nd ed.), section 2.5.

    The mean over quantiles of the estimated dispersion: the noncentral t distribution of SciPy
    gives NaN for large effects."""
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtrit

    freedom = n - 1 if paired else 2 * n - 2
    centre = effect * sqrt(n if paired else n / 2)
    estimated = np.sqrt(chdtri(freedom, _MIDDLES) / freedom)
    limit = float(stdtrit(freedom, 1 - alpha / 2)) * estimated
    return float(np.mean(ndtr(centre - limit) + ndtr(-centre - limit)))


def _for_equivalence(trials: ObservedTrials) -> int | None:
    """Power of TOST by Student's t (Schuirmann 1987; Chow, Shao & Wang, Sample Size Calculations
    in Clinical Research, chapter 3); rank tests need more by their efficiency."""
    if trials.bounds is None or not trials.bounds[0] < trials.shift < trials.bounds[1]:
        return None
    from scipy.special import stdtr, stdtrit

    spread, (low, high) = _spread(trials), trials.bounds

    def power(n: int) -> float:
        freedom = n - 1 if trials.paired else 2 * n - 2
        error = spread * sqrt((1 if trials.paired else 2) / n)
        limit = float(stdtrit(freedom, 1 - trials.alpha_tost))
        ends = (high - trials.shift, trials.shift - low)
        return float(sum(stdtr(freedom, end / error - limit) for end in ends)) - 1

    count = _smallest(power) if spread else 2
    if count is None or not trials.ranks:
        return count
    return max(ceil(count * _RANKS_FOR_T), least_trials(trials.alpha_tost, trials.paired, sided=1))


def _spread(trials: ObservedTrials) -> float:
    """Standard deviation of a trial, or of a pair's difference."""
    if trials.paired:
        return stdev([y - x for x, y in zip(trials.a, trials.b, strict=True)])
    return sqrt((variance(trials.a) + variance(trials.b)) / 2)


def _smallest(power: Callable[[int], float], most: int = MOST) -> int | None:
    """The least n with enough power, which grows with n; None if that is beyond `most`."""
    low, high = 2, 2
    while power(high) < POWER:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle + 1, high)
    return high
