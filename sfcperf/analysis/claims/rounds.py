"""The values of a claim's operands in each round of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from sfcperf.analysis.planned import PlannedMeasurement, planned_measurements
from sfcperf.analysis.telemetry.joined import joined
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means
from sfcperf.workflow.model import Operand
from sfcperf.workflow.references import level_text

Levels = Mapping[str, tuple[str, ...]]
ByRound = Mapping[int, float]


class NotMeasured(Exception):
    """A run has no values for an operand; the message says why."""


@dataclass(frozen=True)
class Points:
    """A metric at the levels of a factor."""

    x: tuple[float, ...]
    y: Mapping[int, tuple[float, ...]]
    """Round -> the metric at each x, means over scenarios; in its unit. Only rounds with a valid
    trial in every scenario."""


class RoundValues:
    """Reads the values of operands from a run folder."""

    def __init__(self, store: RunStore) -> None:
        """Read the trials. Raises InputError if the run folder is damaged."""
        self._store = store
        self._measurements = planned_measurements(store.manifest(), store.trials())

    def of(self, operand: Operand) -> ByRound:
        """Return round -> value of the operand, of the rounds in which all that it needs is valid:
        in the metric's unit, of a slope per unit of the factor, of `over` without unit. Raises
        NotMeasured."""
        if operand.slope is not None:
            points = self.points(operand)
            weights = _slope_weights(points.x)
            return {
                number: sum(w * y for w, y in zip(weights, values, strict=True))
                for number, values in points.y.items()
            }
        values = self._mean(operand, operand.at)
        other = operand.over if operand.minus is None else operand.minus
        if other is None:
            return values
        others = self._mean(operand, {**operand.at, **other})
        both = [number for number in values if number in others]
        if operand.minus is not None:
            return {n: values[n] - others[n] for n in both}
        if not all(others[n] for n in both):
            raise NotMeasured(f"{operand.metric} is 0 at the levels of `over`, in a round or more")
        return {n: values[n] / others[n] for n in both}

    def points(self, operand: Operand) -> Points:
        """Return the points through which the line of an operand with `slope` goes. Raises
        NotMeasured."""
        factor = str(operand.slope)
        at_x: dict[float, list[PlannedMeasurement]] = {}
        for measurement in self._chosen(operand, operand.at):
            level = measurement.scenario.get(factor)
            if not isinstance(level, int | float) or isinstance(level, bool):
                raise NotMeasured(f"not all levels of {factor!r} are numbers in this run")
            at_x.setdefault(float(level), []).append(measurement)
        if len(at_x) < 2:
            raise NotMeasured(f"a slope needs two levels of {factor!r}")
        x = tuple(sorted(at_x))
        columns = [_mean_of([self._values(each, operand) for each in at_x[value]]) for value in x]
        common = set.intersection(*(set(column) for column in columns))
        return Points(x, {n: tuple(column[n] for column in columns) for n in sorted(common)})

    def _mean(self, operand: Operand, levels: Levels) -> ByRound:
        chosen = self._chosen(operand, levels)
        return _mean_of([self._values(measurement, operand) for measurement in chosen])

    def _chosen(self, operand: Operand, levels: Levels) -> list[PlannedMeasurement]:
        """Return the probe's measurements in the scenarios with these levels, each level of which
        must be there: a mean over others would be another quantity."""
        chosen = [
            measurement
            for measurement in self._measurements
            if measurement.label == operand.probe and _has(measurement, levels)
        ]
        for factor, texts in levels.items():
            present = {level_text(each.scenario.get(factor)) for each in chosen}
            for text in texts:
                if text not in present:
                    raise NotMeasured(f"this run has no level {text} of {factor!r}")
        if not chosen:
            raise NotMeasured(f"this run has no probe {operand.probe!r} in these scenarios")
        return chosen

    def _values(self, measurement: PlannedMeasurement, operand: Operand) -> ByRound:
        """Return round -> value of the operand's metric in one scenario. Raises NotMeasured for a
        metric that no valid trial has."""
        values: dict[int, float] = {}
        for record in measurement.trials:
            if record.status == "valid":
                if operand.monitor is None:
                    value = trial_means(record).get(operand.metric)
                else:
                    key = (record.trial_id, operand.monitor, operand.metric)
                    value = self._telemetry(operand.metric).get(key)
                if value is not None:
                    values[record.round] = value
        if not values:
            source = operand.monitor or operand.probe
            raise NotMeasured(
                f"no valid trial of {measurement.scenario_id} has a value of {operand.metric} "
                f"from {source}"
            )
        return values

    def _telemetry(self, metric: str) -> Mapping[tuple[str, str, str], float]:
        """Return (trial, source, metric) -> mean of the monitor's metric during the trial."""
        if metric not in self._means:
            with joined(self._store, [metric]) as batches:
                rows = [row for batch in batches for row in batch.to_pylist()]
            self._means[metric] = {
                (row["trial_id"], row["source"], metric): row["mean"]
                for row in rows
                if row["series"] == metric and row["mean"] is not None
            }
        return self._means[metric]

    @cached_property
    def _means(self) -> dict[str, dict[tuple[str, str, str], float]]:
        return {}


def _has(measurement: PlannedMeasurement, levels: Levels) -> bool:
    scenario = measurement.scenario
    return all(
        factor in scenario and level_text(scenario[factor]) in texts
        for factor, texts in levels.items()
    )


def _mean_of(columns: Sequence[ByRound]) -> ByRound:
    """Return round -> mean over scenarios, of rounds in which all of them have a value."""
    common = set.intersection(*(set(column) for column in columns))
    return {n: fmean(column[n] for column in columns) for n in sorted(common)}


def _slope_weights(x: Sequence[float]) -> list[float]:
    """Return the weights by which y is summed up to the slope of the least-squares line."""
    centre = fmean(x)
    squares = sum((value - centre) ** 2 for value in x)
    return [(value - centre) / squares for value in x]
