"""Bootstrap interval of the mean, for trials that are not normal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from sfcperf.analysis.statistics.intervals import Interval
from sfcperf.analysis.statistics.scaling import scaled

if TYPE_CHECKING:
    from numpy import intp
    from numpy.typing import NDArray

METHOD = "BCa bootstrap (mean)"
LEAST = 50
"""With fewer trials it covers less often than it says, and less often than t even for skewed ones
(docs/explanation/statistics.md has the figures)."""
MOST = 1000
"""Beyond this, the mean of trials is normal enough, whatever their distribution."""
_RESAMPLES = 1999
_SEED = 20_230_817


def bca_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Bias-corrected and accelerated bootstrap interval of the mean, in the values' unit.

    None for fewer than LEAST or more than MOST values, or equal ones. The resamples are the same
    for all rows of n trials and in every run: the same trials give the same interval, and a large
    run is fast (scipy.stats.bootstrap draws new ones for each row; tests compare the two).
    Source: Efron, Better Bootstrap Confidence Intervals, JASA 82 (1987), sections 3 and 6.
    """
    import numpy as np
    from scipy.special import ndtr, ndtri

    array = np.asarray(values, float)
    deviations = scaled(array)
    if not LEAST <= len(array) <= MOST or deviations is None:
        return None
    means = np.sort(deviations[_resamples(len(array))].mean(axis=1))
    mean = deviations.mean()
    below = (np.sum(means < mean) + np.sum(means <= mean)) / 2 / _RESAMPLES
    bias = ndtri(below)
    # For a mean, the jackknife's deviations are those of the values but for sign and a factor.
    centred = deviations - mean
    acceleration = np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5)
    z = bias + ndtri((1 + np.array([-confidence, confidence])) / 2)
    low, high = np.quantile(means, ndtr(bias + z / (1 - acceleration * z)))
    centre, scale = float(np.median(array)), float(np.max(np.abs(array - np.median(array))))
    return Interval(centre + scale * float(low), centre + scale * float(high), confidence, METHOD)


@cache
def _resamples(n: int) -> NDArray[intp]:
    """Indices drawn with replacement. RandomState guarantees the same stream in all versions."""
    import numpy as np

    drawn: NDArray[intp] = np.random.RandomState(_SEED).randint(0, n, size=(_RESAMPLES, n))
    return drawn
