"""Effect sizes: how far apart the sides are, independent of the unit."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, isfinite, sqrt, tanh

from sfcperf.analysis.two_sample.exact_ranks import doubled_midranks
from sfcperf.analysis.two_sample.shift import Estimate, mean, stdev, variance

CLIFF = "Cliff's delta (Newcombe's interval)"
BISERIAL = "matched-pairs rank-biserial (Fisher's z)"
HEDGES = "Hedges' g (noncentral t)"


def cliffs_delta(a: Sequence[float], b: Sequence[float], confidence: float) -> Estimate:
    """Return P(b > a) - P(b < a) for a trial of each side: 1 if every trial of b exceeds all of a.

    Source: Cliff, "Dominance statistics", Psychological Bulletin 114, 1993. The interval is method
    5 of Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2", Statistics in Medicine 25, 2006: it has a width at +-1 too.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    n, m = len(a), len(b)
    ranks = sum(doubled_midranks([*a, *b])[n:]) / 2
    # P(b > a), ties counted half.
    theta = (ranks - m * (m + 1) / 2) / (n * m)
    z = float(ndtri((1 + confidence) / 2))
    more = (n + m) / 2 - 1

    def excess(t: float) -> float:
        """Return a number that is 0 at the ends of Newcombe's interval of theta, and negative
        inside."""
        spread = 1 + more * ((1 - t) / (2 - t) + t / (1 + t))
        return (t - theta) ** 2 - z * z * t * (1 - t) * spread / (n * m)

    # theta itself is a root where it is 0 or 1, but not an end of the interval: start beside it.
    low = brentq(excess, 0.0, theta - 1e-9) if theta > 1e-9 else 0.0
    high = brentq(excess, theta + 1e-9, 1.0) if theta < 1 - 1e-9 else 1.0
    return Estimate(2 * theta - 1, 2 * float(low) - 1, 2 * float(high) - 1, confidence, CLIFF)


def rank_biserial(a: Sequence[float], b: Sequence[float], confidence: float) -> Estimate:
    """Return the share of pairs with b above a in the sum of ranks of the differences, minus the
    share of pairs with b below a: from -1 to 1, and 0 if no pair differs.

    Source: Kerby, "The simple difference formula", Comprehensive Psychology 3, 2014. The interval
    is by Fisher's z with the standard error of the signed-rank statistic; there is none at +-1, nor
    if no pair differs.
    """
    from scipy.special import ndtri

    d = [y - x for x, y in zip(a, b, strict=True) if y != x]
    if not d:
        return Estimate(0.0, None, None, confidence, BISERIAL)
    ranks = doubled_midranks([abs(x) for x in d])
    up = sum(rank for rank, x in zip(ranks, d, strict=True) if x > 0)
    r = 2 * up / sum(ranks) - 1
    if abs(r) == 1:
        return Estimate(r, None, None, confidence, BISERIAL)
    n = len(d)
    half = float(ndtri((1 + confidence) / 2)) * sqrt((2 * n + 1) * 2 / (3 * n * (n + 1)))
    return Estimate(r, tanh(atanh(r) - half), tanh(atanh(r) + half), confidence, BISERIAL)


def hedges_g(
    a: Sequence[float], b: Sequence[float], paired: bool, confidence: float
) -> Estimate | None:
    """Return the difference of the means in standard deviations (pooled; paired: of the
    differences), corrected for few trials. None for fewer than two trials on a side, without
    dispersion, and for two pairs.

    Source: Hedges, "Distribution theory for Glass's estimator of effect size", Journal of
    Educational Statistics 6, 1981. The interval is by the noncentral t distribution; there is none
    where SciPy does not find both ends.
    """
    from scipy.special import nctdtrinc

    n, m = len(a), len(b)
    if min(n, m) < 2:
        return None
    if paired:
        d = [y - x for x, y in zip(a, b, strict=True)]
        shift, spread, freedom, scale = mean(d), stdev(d), n - 1, sqrt(n)
    else:
        pooled = ((n - 1) * variance(a) + (m - 1) * variance(b)) / (n + m - 2)
        shift, spread = mean(b) - mean(a), sqrt(pooled)
        freedom, scale = n + m - 2, sqrt(n * m / (n + m))
    if not spread or freedom < 2:
        return None
    # `scale` turns an effect size into Student's t.
    t = shift / spread * scale
    unbiased = 1 - 3 / (4 * freedom - 1)
    tail = (1 - confidence) / 2
    ends = [float(nctdtrinc(freedom, p, t)) / scale * unbiased for p in (1 - tail, tail)]
    low, high = ends if all(map(isfinite, ends)) and ends[0] <= ends[1] else (None, None)
    return Estimate(shift / spread * unbiased, low, high, confidence, HEDGES)
