"""What a point of a figure stands for: the mean or the median of its trials, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfcperf.results.records import Summary

Centre = Literal["mean", "median"]


@dataclass(frozen=True)
class Estimate:
    """A centre of the trials of a row, in the metric's unit."""

    value: float | None
    """None without a valid trial."""
    low: float | None
    """None without an interval: of the mean for n < 2, of the median for n < 6 at 0.95."""
    high: float | None
    method: str
    """How the interval was made."""

    @property
    def half_width(self) -> float | None:
        """Of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def estimate(row: Summary, centre: Centre) -> Estimate:
    """Mean or median of a row, each with the interval made for it: never one's with the other's."""
    if centre == "median":
        return Estimate(row.median, row.median_ci_low, row.median_ci_high, row.median_method)
    return Estimate(row.mean, row.ci_low, row.ci_high, row.method)
