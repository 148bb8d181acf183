"""Whether trials look normal, and which of mean and median therefore describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sfcperf.analysis.statistics.intervals import Interval
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


@dataclass(frozen=True)
class Centre:
    """The statistic that describes the trials best."""

    name: Literal["mean", "median"]
    reason: str


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


def centre(found: Normality, n: int, of_median: Interval | None, *, sequential: bool) -> Centre:
    """Mean or median, and why; `of_median` is the median's interval, None for too few trials."""
    if found.p is None:
        few = "too few trials to test for normality" if n < 3 else "all trials are equal"
        return Centre("mean", few)
    tested = f"{found.method} p = {found.p:.2g}"
    if not found.rejected:
        return Centre("mean", f"no evidence against normality ({tested})")
    if sequential:
        return Centre("mean", f"not normal ({tested}), but the mean decided when the run stopped")
    if of_median is None:
        return Centre("mean", f"not normal ({tested}), but too few for an interval of the median")
    return Centre("median", f"not normal ({tested})")
