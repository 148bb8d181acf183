"""Whether the order of the trials matters: autocorrelation and trend over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from sfcperf.analysis.permutations import permutation_p
from sfcperf.analysis.scaling import scaled
from sfcperf.analysis.trend import mann_kendall_p

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.01
"""Probability of a warning about trials whose order does not matter, per row and test."""
LEAST = 5
"""Fewer trials cannot show dependence at any usual level."""
_MOST_TO_SHUFFLE = 500


@dataclass(frozen=True)
class Dependence:
    """Of values on their predecessors and on time."""

    autocorrelation: float | None
    """Lag 1, from -1 to 1; None for fewer than LEAST values, or equal ones."""
    autocorrelation_p: float | None
    """One-sided: positive autocorrelation makes intervals too narrow, negative too wide."""
    trend_p: float | None
    """Two-sided."""
    drift_ratio: float | None
    """Median of the last third over that of the first, minus 1; None where that is 0."""

    @property
    def trends(self) -> bool:
        """Whether the values go up or down with time."""
        return self.trend_p is not None and self.trend_p < ALPHA

    @property
    def clings(self) -> bool:
        """Whether a value resembles the one before it."""
        return self.autocorrelation_p is not None and self.autocorrelation_p < ALPHA


def dependence(values: Sequence[float]) -> Dependence:
    """Of finite values in order of time.

    Autocorrelation by the permutation test of the lag-1 coefficient, exact at small n where
    Ljung-Box is not; beyond 500 values by its normal approximation (Box, Jenkins & Reinsel,
    Time Series Analysis, section 2.1.6). Trend by Mann-Kendall (Mann 1945), exact without ties.
    """
    from scipy import special

    deviations = scaled(values)
    n = len(values)
    if deviations is None or n < LEAST:
        return Dependence(None, None, None, None)
    coefficient = float(_lag_one(deviations[None, :])[0])
    if n <= _MOST_TO_SHUFFLE:
        p = permutation_p(deviations[None, :], _lag_one)
    else:
        p = float(special.ndtr(-(coefficient + 1 / n) * n**0.5))
    return Dependence(coefficient, p, mann_kendall_p(deviations), _drift(values))


def _lag_one(rows: NDArray[float64]) -> NDArray[float64]:
    """r(1) of each row: sum of products of neighbours' deviations over the sum of squares."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    products = (centred[:, :-1] * centred[:, 1:]).sum(axis=1)
    coefficients: NDArray[float64] = products / (centred * centred).sum(axis=1)
    return coefficients


def _drift(values: Sequence[float]) -> float | None:
    from statistics import median

    third = max(1, len(values) // 3)
    first, last = float(median(values[:third])), float(median(values[-third:]))
    ratio = last / first - 1 if first else None
    return ratio if ratio is not None and isfinite(ratio) else None
