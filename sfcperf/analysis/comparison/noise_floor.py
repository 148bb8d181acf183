"""The noise floor: how far two runs of the same thing differ. A/A runs show it.

A comparison of one run per side cannot see how runs differ. With the noise floor of the machine it
can tell a real difference from the difference of two runs of the same thing.
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
    """Mean and dispersion of a metric in one A/A run."""

    n: int
    """Number of trials."""
    mean: float
    """Mean of the trials, in the unit."""
    sd: float
    """Standard deviation of the trials, in the unit; 0 for one trial."""


class FloorT(Student):
    """Tests whether two runs differ by more than two runs of the same thing do, by Student's t."""

    name: ClassVar[str] = "t of the noise floor"
    estimator: ClassVar[str] = "t (noise floor)"


@dataclass(frozen=True)
class FloorRecord:
    """How A/A runs of a machine differ in one metric of one scenario. `NoiseFloors.of` makes it."""

    sets: tuple[tuple[RunMean, ...], ...]
    """Sets of at least two runs; the runs of a set are of the same thing."""
    runs: tuple[str, ...]
    """Ids of the runs of all sets."""

    def test(self, a: Sample, b: Sample, scale: Scale) -> FloorT:
        """Test the difference of two runs, one per side, against this floor."""
        (of_a,), (of_b,) = run_means(a, scale), run_means(b, scale)
        return FloorT(of_b - of_a, sqrt(self._variance(a, b, scale)), self._freedom)

    def floor(self, a: Sample, b: Sample, scale: Scale, confidence: float) -> Floor:
        """Return by how much two runs of the same thing with trials like these differ at most, with
        this confidence."""
        test = self.test(a, b, scale)
        ends = test.interval(confidence)
        assert ends is not None
        half, spread = (ends[1] - ends[0]) / 2, sqrt(self._between(scale))
        limit = expm1(half) if scale.ratios else half
        return Floor(limit, scale.ratios, spread, self.runs)

    def fits(self, scale: Scale) -> bool:
        """Whether the scale fits the runs: a scale of ratios takes logarithms, which need positive
        means."""
        return not scale.ratios or all(run.mean > 0 for group in self.sets for run in group)

    @property
    def _freedom(self) -> int:
        """Degrees of freedom of the variance between runs."""
        return sum(len(group) - 1 for group in self.sets)

    def _between(self, scale: Scale) -> float:
        """Return the variance of the means of runs on the scale, pooled over the sets."""
        squares = sum(
            (len(group) - 1) * variance(scale.of([run.mean for run in group]))
            for group in self.sets
        )
        return squares / self._freedom

    def _variance(self, a: Sample, b: Sample, scale: Scale) -> float:
        """Return the variance of the difference of two runs with trials like these. If the trials
        of a side are fewer or scatter more than those of the A/A runs, the excess of its mean's
        variance is added."""
        return 2 * self._between(scale) + sum(
            max(0.0, variance(scale.of(side.values)) / len(side.values) - self._within(scale))
            for side in (a, b)
            if len(side.values) > 1
        )

    def _within(self, scale: Scale) -> float:
        """Return how much of the variance of an A/A run's mean comes from the scatter of its trials
        (delta method for ratios)."""
        runs = [run for group in self.sets for run in group]
        parts = [
            (run.n - 1, (run.sd / (run.mean if scale.ratios else 1)) ** 2)
            for run in runs
            if run.n > 1
        ]
        freedom = sum(weight for weight, _ in parts)
        pooled = sum(weight * square for weight, square in parts) / freedom if freedom else 0.0
        return pooled / harmonic_mean([run.n for run in runs])
