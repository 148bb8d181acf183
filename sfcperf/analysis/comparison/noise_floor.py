"""The noise floor: how far two runs of one thing differ, from A/A runs.

A comparison of one run per side cannot see how runs differ; with the floor of the machine it can
tell a difference from what two runs of the same thing differ by.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, sqrt
from statistics import harmonic_mean
from typing import ClassVar

from sfcperf.analysis.comparison.replication import run_means
from sfcperf.analysis.comparison.result import Floor, Sample
from sfcperf.analysis.two_sample import Scale, Student, variance


@dataclass(frozen=True)
class RunMean:
    """A metric in an A/A run."""

    n: int
    """Trials."""
    mean: float
    """Of the trials, in the unit."""
    sd: float
    """Of the trials, in the unit; 0 for one trial."""


class FloorT(Student):
    """A difference of two runs against what two runs of one thing differ by."""

    name: ClassVar[str] = "t of the noise floor"
    estimator: ClassVar[str] = "t (noise floor)"


@dataclass(frozen=True)
class FloorRecord:
    """One row of the A/A runs of a machine."""

    sets: tuple[tuple[RunMean, ...], ...]
    """Each of runs of one thing, at least two."""
    runs: tuple[str, ...]
    """Ids."""

    def test(self, a: Sample, b: Sample, scale: Scale) -> FloorT:
        """Of one run per side."""
        (of_a,), (of_b,) = run_means(a, scale), run_means(b, scale)
        return FloorT(of_b - of_a, sqrt(self._variance(a, b, scale)), self._freedom)

    def floor(self, a: Sample, b: Sample, scale: Scale, confidence: float) -> Floor:
        """What two such runs of one thing differ by at most, with this confidence."""
        test = self.test(a, b, scale)
        ends = test.interval(confidence)
        assert ends is not None
        half, spread = (ends[1] - ends[0]) / 2, sqrt(self._between(scale))
        limit = expm1(half) if scale.ratios else half
        return Floor(limit, scale.ratios, spread, self.runs)

    def fits(self, scale: Scale) -> bool:
        """Whether the runs can be put on this scale."""
        return not scale.ratios or all(run.mean > 0 for group in self.sets for run in group)

    @property
    def _freedom(self) -> int:
        return sum(len(group) - 1 for group in self.sets)

    def _between(self, scale: Scale) -> float:
        """Variance of the runs' means, pooled over the sets."""
        squares = sum(
            (len(group) - 1) * variance(scale.of([run.mean for run in group]))
            for group in self.sets
        )
        return squares / self._freedom

    def _variance(self, a: Sample, b: Sample, scale: Scale) -> float:
        """Of the difference of two runs with as many trials as these: runs with fewer trials, or
        with trials that scatter more, differ more."""
        return 2 * self._between(scale) + sum(
            max(0.0, variance(scale.of(side.values)) / len(side.values) - self._within(scale))
            for side in (a, b)
            if len(side.values) > 1
        )

    def _within(self, scale: Scale) -> float:
        """The trials' share of that variance."""
        runs = [run for group in self.sets for run in group]
        parts = [
            (run.n - 1, (run.sd / (run.mean if scale.ratios else 1)) ** 2)
            for run in runs
            if run.n > 1
        ]
        freedom = sum(weight for weight, _ in parts)
        pooled = sum(weight * square for weight, square in parts) / freedom if freedom else 0.0
        return pooled / harmonic_mean([run.n for run in runs])
