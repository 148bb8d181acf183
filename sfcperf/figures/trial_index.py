"""The trials behind a point: one number per metric and trial, found by probe and scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sfcperf.presentation.levels import Levels, level_key
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_means, trial_series


@dataclass(frozen=True)
class TrialValue:
    """A trial with its number."""

    record: TrialRecord
    value: float
    """Mean of the trial's samples, in the metric's unit."""

    def samples(self, metric: str) -> list[float]:
        """The single samples of a metric, in the metric's unit."""
        return [sample["value"] for sample in self.record.samples if sample["metric"] == metric]

    def series(self, metric: str) -> list[float]:
        """What the number is made of, in order of time (each echo of ping): the series that the
        probe kept, or else its samples."""
        return list(trial_series(self.record, metric)) or self.samples(metric)


class TrialIndex:
    """Trials with the one number per metric that counts, by probe label and scenario."""

    def __init__(self, trials: Iterable[TrialRecord]) -> None:
        self._groups: dict[str, dict[str, list[tuple[TrialRecord, Mapping[str, float]]]]] = {}
        self.add(trials)

    def add(self, trials: Iterable[TrialRecord]) -> None:
        """Know of further trials."""
        for record in trials:
            scenarios = self._groups.setdefault(record.label, {})
            group = scenarios.setdefault(level_key(record.scenario), [])
            group.append((record, trial_means(record)))

    def of(self, label: str, scenario: Levels, metric: str) -> tuple[TrialValue, ...]:
        """Trials of a probe in a scenario that have a number, whether or not they count, in the
        order in which they ended."""
        group = self._groups.get(label, {}).get(level_key(scenario), [])
        return tuple(TrialValue(r, means[metric]) for r, means in group if metric in means)

    def of_probe(self, label: str) -> list[tuple[TrialRecord, Mapping[str, float]]]:
        """All trials of a probe, scenario by scenario."""
        return [item for group in self._groups.get(label, {}).values() for item in group]
