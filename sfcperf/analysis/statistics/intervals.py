"""Confidence intervals for a mean and for a median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite, sqrt
from statistics import mean, stdev

MEAN_METHOD = "t (mean)"
LOOKS_METHOD = "t (mean, repeated looks)"
MEDIAN_METHOD = "order statistics (median)"

_LOOKS_CONSTANT = 2.5


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


def mean_interval(
    values: Sequence[float], confidence: float, first_look: int | None = None
) -> Interval | None:
    """Student's t interval of the mean: mean ± t(n-1) * s / sqrt(n).

    None for n < 2: one value says nothing about dispersion. Equal values give an interval of width
    0: they agree to the resolution of the tool, which does not prove that the truth is known.
    Source: Jain, The Art of Computer Systems Performance Analysis (1991), section 13.2.

    `first_look` is the number of rounds after which sequential stopping first looked at the
    values; t is then that of `confidence_per_look`. None if the number of rounds was fixed.
    """
    if len(values) < 2:
        return None
    centre, spread = float(mean(values)), float(stdev(values))
    return interval_around(centre, spread, len(values), confidence, first_look)


def interval_around(
    centre: float, spread: float, n: int, confidence: float, first_look: int | None = None
) -> Interval:
    """`mean_interval` of n >= 2 values with this mean and standard deviation."""
    if first_look is None:
        per_look, method = confidence, MEAN_METHOD
    else:
        per_look, method = confidence_per_look(confidence, first_look), LOOKS_METHOD
    half_width = t_quantile(n - 1, per_look) * spread / sqrt(n)
    return Interval(centre - half_width, centre + half_width, confidence, method)


def confidence_per_look(confidence: float, first_look: int) -> float:
    """Confidence of the interval at each look, such that the interval at which a run stops covers
    the truth about as often as `confidence` says.

    A run that stops as soon as the interval is narrow stops too often on an interval that is
    narrow by chance (Anscombe 1952; Starr 1966). Repeated confidence intervals (Jennison &
    Turnbull 1989) are therefore wider at every look, here with a constant error probability
    (Pocock 1977): alpha * m / (m + 2.5), where m is the first look. An earlier first look makes
    stopping by chance more likely; the number of later looks hardly matters, because few runs stop
    by chance late. The constant comes from simulation: docs/explanation/statistics.md and
    benchmarks/interval_coverage.py show the resulting coverage.
    """
    first_look = max(first_look, 2)
    return 1 - (1 - confidence) * first_look / (first_look + _LOOKS_CONSTANT)


def median_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Distribution-free interval of the median: the order statistics x(r) and x(n+1-r).

    r is the largest rank for which P(r <= B <= n-r) >= confidence, B binomial(n, 1/2), so that the
    interval covers at least as often as requested. None if there is no such rank: at 0.95, n < 6.
    Source: David & Nagaraja, Order Statistics (3rd ed.), section 7.1.
    """
    rank = _median_rank(len(values), confidence)
    if rank == 0:
        return None
    ordered = sorted(values)
    low, high = float(ordered[rank - 1]), float(ordered[-rank])
    return Interval(low, high, confidence, MEDIAN_METHOD)


def relative_half_width(centre: float, interval: Interval) -> float | None:
    """Half-width divided by the magnitude of the centre (a mean), a ratio.

    0 for an interval of width 0, also around 0: a metric that is constantly 0 (no losses, no
    errors) is known. None for a mean of 0 with a wider interval, which no ratio describes. A mean
    near 0 gives a large number: its relative precision is poor.
    """
    if interval.half_width == 0:
        return 0.0
    ratio = interval.half_width / abs(centre) if centre else inf
    return ratio if isfinite(ratio) else None


@cache
def t_quantile(degrees_of_freedom: float, confidence: float) -> float:
    """Two-sided quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, (1 + confidence) / 2))


@cache
def _median_rank(n: int, confidence: float) -> int:
    """The rank r of `median_interval`; 0 when there is none."""
    from numpy import arange, searchsorted
    from scipy.special import bdtr

    below = bdtr(arange(n // 2), n, 0.5)
    return int(searchsorted(below, (1 - confidence) / 2, side="right"))
