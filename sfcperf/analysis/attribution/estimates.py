"""Estimates of times over the trials of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median

from sfcperf.analysis.statistics import Rules, estimate_of
from sfcperf.results.percentiles import percentiles


@dataclass(frozen=True)
class Estimate:
    """Mean of the trials' means, in us."""

    trials: int
    mean_us: float
    ci_low_us: float | None
    """None where the mean has no interval (analysis.statistics.estimates)."""
    ci_high_us: float | None


@dataclass(frozen=True)
class DescribedEstimate(Estimate):
    """With a description of the samples of all trials, which are not independent."""

    samples: int
    median_us: float | None
    p99_us: float | None
    """None for fewer than 99 samples."""


@dataclass(frozen=True)
class Estimator:
    """Makes estimates by the rules of one run: of means, because only means add up."""

    rules: Rules

    def estimate(self, means: Sequence[float]) -> Estimate | None:
        """From the means of trials; None without any."""
        if not means:
            return None
        found = estimate_of(means, self.rules, "mean").interval
        low, high = (None, None) if found is None else (found.low, found.high)
        return Estimate(len(means), fmean(means), low, high)

    def why_bare(self, means: Sequence[float]) -> str:
        """Why these have no interval, as a clause; empty if they have one."""
        return estimate_of(means, self.rules, "mean").withheld

    def described(
        self, means: Sequence[float], samples: Sequence[float]
    ) -> DescribedEstimate | None:
        """The same with a description of the samples of all trials."""
        found = self.estimate(means)
        if found is None:
            return None
        middle = float(median(samples)) if samples else None
        high = percentiles(samples, [99])[99]
        return DescribedEstimate(
            **asdict(found), samples=len(samples), median_us=middle, p99_us=high
        )
