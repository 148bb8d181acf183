"""Whether trials look normal: information for the reader, on which nothing depends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics.scaling import scaled

ALPHA = 0.05
"""Probability of rejecting normality of normal trials."""
SHAPIRO_WILK = "Shapiro-Wilk"
DAGOSTINO_PEARSON = "D'Agostino-Pearson"
_MOST_FOR_SHAPIRO = 5000
"""Royston's approximation of the p-value was not checked beyond this (scipy says so too)."""


@dataclass(frozen=True)
class Normality:
    """Outcome of a test for normality."""

    p: float | None
    """None for fewer than three values, or equal ones."""
    method: str
    """Name of the test; empty without one."""

    @property
    def rejected(self) -> bool:
        """Whether the values do not look normal."""
        return self.p is not None and self.p < ALPHA


def normality(values: Sequence[float]) -> Normality:
    """Test finite values for normality.

    Shapiro-Wilk (Royston 1995, algorithm AS R94) has the most power of the usual tests at small n
    (Razali & Wah 2011); beyond 5000 values D'Agostino & Pearson (1973) takes its place.
    """
    from scipy import stats

    deviations = scaled(values)
    if deviations is None or len(values) < 3:
        return Normality(None, "")
    if len(values) > _MOST_FOR_SHAPIRO:
        return Normality(float(stats.normaltest(deviations).pvalue), DAGOSTINO_PEARSON)
    return Normality(float(stats.shapiro(deviations).pvalue), SHAPIRO_WILK)
