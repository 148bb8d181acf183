"""Confidence intervals for a mean and for a median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from math import cbrt, exp, isfinite, sqrt
from statistics import mean, stdev

from sfcperf.analysis.statistics.scaling import scaled

MEAN_METHOD = "skewness-corrected t (mean)"
MEDIAN_METHOD = "interpolated order statistics (median)"
LOOKS = ", repeated looks"
"""Suffix of a method's name where sequential stopping widened the interval."""

_LOOKS_CONSTANT = 2.5
"""Constant of `confidence_per_look`."""
_MOST_LOGARITHM = 50
"""Largest distance of an end from the centre, as a natural logarithm, that is still reported."""


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval, in the unit of the values."""

    low: float
    high: float
    confidence: float
    """The requested level, e.g. 0.95."""
    method: str
    """Name of the method, shown beside every number."""

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


def mean_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Student's t interval of the mean, corrected for the skewness of the values; in their unit.

    None for n < 2: one value says nothing about dispersion. Equal values give a width of 0. If all
    values are positive, the interval is computed for the logarithm of the mean, so that it is
    positive too. None then also stands for ends that are many orders of magnitude apart.

    Source: Hall, On the removal of skewness by transformation, JRSS B 54 (1992), the cubic
    transformation; without skewness it is t (Jain, The Art of Computer Systems Performance
    Analysis, 1991, section 13.2). benchmarks/analysis/interval_coverage.py compares the two.
    """
    n = len(values)
    if n < 2:
        return None
    centre, spread = float(mean(values)), float(stdev(values))
    t = t_quantile(n - 1, confidence) / sqrt(n)
    skewness = _skewness(values)
    # Distances from the low end up to the centre, and from the high end down to it (negative).
    below, above = (spread * _unskewed(y, skewness, n) for y in (t, -t))
    if min(values) > 0:
        # On the scale of the logarithm, a distance is divided by the centre.
        if -above > _MOST_LOGARITHM * centre:
            return None
        low, high = centre * exp(-below / centre), centre * exp(-above / centre)
    else:
        low, high = centre - below, centre - above
    return Interval(low, high, confidence, MEAN_METHOD)


def _skewness(values: Sequence[float]) -> float:
    """Return the third central moment over the cube of the standard deviation (divisor n - 1); 0
    for equal values."""
    deviations = scaled(values)
    if deviations is None:
        return 0.0
    centred = deviations - deviations.mean()
    return float((centred**3).mean() / centred.std(ddof=1) ** 3)


def _unskewed(y: float, skewness: float, n: int) -> float:
    """Invert Hall's cubic transformation: return the studentized deviation that it maps to y. For
    hardly any skewness that is y itself, and the formula would divide by 0."""
    if abs(skewness) < 1e-6:
        return y
    third = skewness / 3
    return (cbrt(1 + 3 * third * (y - skewness / (6 * n))) - 1) / third


def confidence_per_look(confidence: float, first_look: int) -> float:
    """Return the confidence that the interval needs at each look, so that the interval at which a
    run stops covers the truth about as often as `confidence` says.

    A run that stops as soon as the interval is narrow stops too often on an interval that is
    narrow by chance (Anscombe 1952; Starr 1966). Repeated confidence intervals (Jennison &
    Turnbull 1989) are therefore wider at every look, here with a constant error probability
    (Pocock 1977): alpha * m / (m + 2.5), where m is the first look. An earlier first look makes
    stopping by chance more likely; the number of later looks hardly matters, because few runs stop
    by chance late. The constant comes from simulation: docs/explanation/statistics.md and
    benchmarks/analysis/interval_coverage.py show the resulting coverage.
    """
    # One value has no interval, so there is no look before the second.
    first_look = max(first_look, 2)
    return 1 - (1 - confidence) * first_look / (first_look + _LOOKS_CONSTANT)


def median_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Return an interval of the median between order statistics, which assumes no distribution.

    The values of ranks r and n+1-r cover the median with a probability that the binomial
    distribution gives, and that is seldom the confidence. Hettmansperger & Sheather (Statistics &
    Probability Letters 4, 1986) interpolate between the pair of ranks that covers more and the next
    one, which covers less. None if even the outermost values cover less: at 0.95, n < 6.
    """
    found = _ranks(len(values), confidence)
    if found is None:
        return None
    rank, inward = found
    ordered = sorted(map(float, values))
    low = (1 - inward) * ordered[rank - 1] + inward * ordered[rank]
    high = (1 - inward) * ordered[-rank] + inward * ordered[-rank - 1]
    return Interval(low, high, confidence, MEDIAN_METHOD)


@cache
def fewest_for_median(confidence: float) -> int:
    """Return the fewest values for which `median_interval` exists: 6 at 0.95."""
    return next(n for n in count(2) if _ranks(n, confidence) is not None)


def relative_half_width(
    values: Sequence[float], centre: float | None, interval: Interval | None
) -> float | None:
    """Return the half-width over the magnitude of the centre (mean or median of the values), a
    ratio.

    It is 0 for equal values, also if all are 0 (no losses, no errors): more trials would not tell
    more. It is None for one value, without an interval, and for a centre of 0, which nothing can be
    divided by.
    """
    if len(values) > 1 and min(values) == max(values):
        return 0.0
    if interval is None or not centre:
        return None
    ratio = interval.half_width / abs(centre)
    return ratio if isfinite(ratio) else None


@cache
def t_quantile(degrees_of_freedom: float, confidence: float) -> float:
    """Return the quantile of Student's t that cuts off (1 - confidence) / 2 at either end."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, (1 + confidence) / 2))


@cache
def _ranks(n: int, confidence: float) -> tuple[int, float] | None:
    """Return the ranks of an interval of the median of n ordered values: the rank, from either end,
    of the narrowest pair that covers it at least as often as asked, and how far (0 to 1) to
    interpolate from there to the next rank inward. None if even the outermost pair covers less."""
    from numpy import arange
    from scipy.special import bdtr

    covers = 1 - 2 * bdtr(arange((n + 1) // 2), n, 0.5)  # of ranks 1, 2, ...
    rank = int((covers >= confidence).sum())
    if rank == 0:
        return None
    here = float(covers[rank - 1])
    following = float(covers[rank]) if rank < len(covers) else 0.0
    share = (here - confidence) / (here - following)
    return rank, (n - rank) * share / (rank + (n - 2 * rank) * share)
