"""How a metric develops within the trials of a scenario: its centre over trials, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics import Centre, Rules, estimate_of
from sfcperf.presentation.levels import is_number
from sfcperf.results.records import TrialRecord


@dataclass(frozen=True)
class TimeStep:
    """The centre (mean or median) of the trials in a step of time, with its interval, in the
    metric's unit."""

    start_s: float
    """Start of the step, in seconds since the start of the trial's series."""
    end_s: float
    value: float
    low: float | None
    """None, like `high`, without an interval."""
    high: float | None


def time_curve(
    records: Iterable[TrialRecord], metric: str, rules: Rules, centre: Centre
) -> list[TimeStep]:
    """Return the steps of time in which all trials have a number, in order. `records`: trials that
    count, in order of time. Empty without trials; if a trial has no series of the metric, or does
    not say how long its steps are; and if these lengths differ."""
    series: list[Sequence[float]] = []
    lengths_s: set[float] = set()
    for record in records:
        if record.series_step_s is None or not record.series.get(metric):
            return []
        series.append(record.series[metric])
        lengths_s.add(record.series_step_s)
    if len(lengths_s) != 1:
        return []
    [step_s] = lengths_s
    return [
        _step(number * step_s, (number + 1) * step_s, values, rules, centre)
        for number, values in enumerate(zip(*series, strict=False))
        if all(map(is_number, values))
    ]


def _step(
    start_s: float, end_s: float, values: Sequence[float], rules: Rules, centre: Centre
) -> TimeStep:
    """Estimate the centre of all trials in one step of time. `values`: a value of each trial."""
    found = estimate_of(values, rules, centre)
    assert found.value is not None  # there are values
    ends = (None, None) if found.interval is None else (found.interval.low, found.interval.high)
    return TimeStep(start_s, end_s, found.value, *ends)


def corners(steps: Sequence[TimeStep]) -> tuple[list[float], list[float]]:
    """Return the curve as a polygon that is level in each step: times in seconds, and values."""
    times = [time for step in steps for time in (step.start_s, step.end_s)]
    return times, [value for step in steps for value in (step.value, step.value)]


def bands(steps: Sequence[TimeStep]) -> list[tuple[list[float], list[float], list[float]]]:
    """Return the bands of a curve, one per stretch of successive steps that have intervals: times
    in seconds, and lower and upper ends."""
    found: list[tuple[list[float], list[float], list[float]]] = []
    before: TimeStep | None = None
    for step in steps:
        if step.low is not None and step.high is not None:
            if before is None or before.low is None:
                found.append(([], [], []))
            for line, ends in zip(
                found[-1],
                ((step.start_s, step.end_s), (step.low,) * 2, (step.high,) * 2),
                strict=True,
            ):
                line += ends
        before = step
    return found
