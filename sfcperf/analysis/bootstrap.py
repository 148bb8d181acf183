"""Bootstrap interval of the mean, for trials that are not normal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from sfcperf.analysis.intervals import Interval

METHOD = "BCa bootstrap (mean)"
LEAST = 50
"""Of fewer trials it covers less often than it says, and less often than t even where these are
skewed (docs/explanation/statistics.md has the figures)."""
MOST = 1000
"""Beyond, the mean of trials is normal enough, whatever the trials are."""
_RESAMPLES = 999
_SEED = 20_230_817


def bca_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Bias-corrected and accelerated bootstrap interval of the mean, in the values' unit.

    None for fewer than LEAST or more than MOST values, or equal ones. The same values give the
    same interval: the resampling has its own seed, and RandomState a frozen stream.
    Source: Efron, Better Bootstrap Confidence Intervals, JASA 82 (1987); scipy.stats.bootstrap.
    """
    import numpy as np
    from scipy import stats

    if not LEAST <= len(values) <= MOST or len(set(values)) == 1:
        return None
    found = stats.bootstrap(
        (np.asarray(values, float),),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=confidence,
        method="BCa",
        random_state=np.random.RandomState(_SEED),
    ).confidence_interval
    low, high = float(found.low), float(found.high)
    return Interval(low, high, confidence, METHOD) if isfinite(low) and isfinite(high) else None
