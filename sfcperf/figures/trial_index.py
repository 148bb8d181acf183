"""The trials behind a point: one number per metric and trial, found by probe and scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sfcperf.presentation.levels import Levels, level_key
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_means, trial_series


@dataclass(frozen=True)
class TrialValue:
    """A trial with its one number for a metric."""

    record: TrialRecord
    value: float
    """Mean of the trial's samples, in the metric's unit."""

    def samples(self, metric: str) -> list[float]:
        """Return the single samples of a metric, in the metric's unit."""
        return [sample["value"] for sample in self.record.samples if sample["metric"] == metric]

    def series(self, metric: str) -> list[float]:
        """Return the values that the trial's number is made of, in order of time (for ping, each
        echo): the series that the probe kept, or its samples if it kept none."""
        return list(trial_series(self.record, metric)) or self.samples(metric)


class TrialIndex:
    """Finds trials by probe label and scenario, with their one number per metric. The means are
    computed once, when a trial is added."""

    def __init__(self, trials: Iterable[TrialRecord]) -> None:
        self._groups: dict[str, dict[str, list[tuple[TrialRecord, Mapping[str, float]]]]] = {}
        self.add(trials)

    def add(self, trials: Iterable[TrialRecord]) -> None:
        """Add further trials."""
        for record in trials:
            scenarios = self._groups.setdefault(record.label, {})
            group = scenarios.setdefault(level_key(record.scenario), [])
            group.append((record, trial_means(record)))

    def of(self, label: str, scenario: Levels, metric: str) -> tuple[TrialValue, ...]:
        """Return the trials of a probe in a scenario that have a number for the metric, whether or
        not they count, in the order in which they were added."""
        group = self._groups.get(label, {}).get(level_key(scenario), [])
        return tuple(TrialValue(r, means[metric]) for r, means in group if metric in means)

    def of_probe(self, label: str) -> list[tuple[TrialRecord, Mapping[str, float]]]:
        """Return all trials of a probe, scenario by scenario, each with its number per metric."""
        return [item for group in self._groups.get(label, {}).values() for item in group]
