"""Estimates of times over the trials of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median

from sfcperf.analysis.statistics import Rules, estimate_of
from sfcperf.results.percentiles import percentiles


@dataclass(frozen=True)
class Estimate:
    """Mean of the means of trials with its confidence interval, in us."""

    trials: int
    mean_us: float
    ci_low_us: float | None
    """None, like `ci_high_us`, where the mean has no interval (analysis.statistics.estimates)."""
    ci_high_us: float | None


@dataclass(frozen=True)
class DescribedEstimate(Estimate):
    """An estimate, and what describes the samples of all trials together. Samples of one trial are
    not independent, so their median and percentile have no interval."""

    samples: int
    """Number of samples."""
    median_us: float | None
    """None without samples."""
    p99_us: float | None
    """99th percentile; None for fewer than 99 samples."""


@dataclass(frozen=True)
class Estimator:
    """Estimates times over trials by the rules of one run. It always takes the mean, whichever
    centre the run declares, because only means of parts add up to that of the whole."""

    rules: Rules

    def estimate(self, means: Sequence[float]) -> Estimate | None:
        """Estimate a time from its means in the trials; None without trials."""
        if not means:
            return None
        found = estimate_of(means, self.rules, "mean").interval
        low, high = (None, None) if found is None else (found.low, found.high)
        return Estimate(len(means), fmean(means), low, high)

    def why_bare(self, means: Sequence[float]) -> str:
        """Return why the estimate from these means has no interval, as a clause; empty if it has
        one."""
        return estimate_of(means, self.rules, "mean").withheld

    def described(
        self, means: Sequence[float], samples: Sequence[float]
    ) -> DescribedEstimate | None:
        """Estimate a time from its means in the trials, and describe the `samples` of all trials
        together. None without trials."""
        found = self.estimate(means)
        if found is None:
            return None
        middle = float(median(samples)) if samples else None
        high = percentiles(samples, [99])[99]
        return DescribedEstimate(
            **asdict(found), samples=len(samples), median_us=middle, p99_us=high
        )
