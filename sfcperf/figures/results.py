"""Results that figures are made from: those of a run, and those derived for the lines of a figure.

A figure of several quantities has a line for each: a metric of a probe, or what a monitor observed.
What a line shows is turned into results like those of a probe, with the name of the line as the
level of one more factor. A figure with lines can thus be resolved, drawn and tabled as any other.
The unit of replication stays the trial: the mean of what a monitor observed in it is one number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sfcperf.analysis.planned import PlannedMeasurement, planned_measurements
from sfcperf.analysis.summary import summarise
from sfcperf.presentation.levels import Levels
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means
from sfcperf.results.values import Metric
from sfcperf.workflow.figures import LINE
from sfcperf.workflow.model import FigureLine, FigureSpec

RUN = "run"
"""Factor whose levels are the labels of runs, in figures over many runs."""

_Observed = Mapping[tuple[str, str, str], tuple[str, float]]
"""(Trial id, source, metric) -> unit and mean of what was observed."""


@dataclass(frozen=True)
class Results:
    """Summaries, scenarios and trials, ready to be resolved into plots."""

    summaries: list[Summary]
    scenarios: list[Levels]
    """Levels of all planned scenarios."""
    trials: list[TrialRecord]
    runs: tuple[str, ...] = ()
    """Labels of the runs; empty for a single run, which needs none."""

    def labelled(self, run: str) -> Results:
        """Return these results with the label of their run as the level of a factor `run`."""

        def with_run(levels: Levels) -> Levels:
            return {RUN: run, **levels}

        return Results(
            [replace(row, scenario=with_run(row.scenario)) for row in self.summaries],
            [with_run(levels) for levels in self.scenarios],
            [replace(record, scenario=with_run(record.scenario)) for record in self.trials],
            (run,),
        )

    def scenarios_of(self, spec: FigureSpec) -> list[Levels]:
        """List the scenarios of the runs that measured what a figure shows."""
        without = self.runs_without(spec)
        return [levels for levels in self.scenarios if levels.get(RUN) not in without]

    def runs_without(self, spec: FigureSpec) -> list[str]:
        """List the labels of the runs that measured nothing of what a figure shows."""
        probes = {line.probe for line in spec.lines}
        have = {
            row.scenario.get(RUN)
            for row in self.summaries
            if (row.label, row.metric) == (spec.probe, spec.metric) or row.label in probes
        }
        return [label for label in self.runs if label not in have]


def joined(parts: Sequence[Results]) -> Results:
    """Join the results of many runs."""
    return Results(
        [row for part in parts for row in part.summaries],
        [levels for part in parts for levels in part.scenarios],
        [record for part in parts for record in part.trials],
        tuple(label for part in parts for label in part.runs),
    )


def line_results(run: RunStore, spec: FigureSpec, planned: Results) -> Results:
    """Derive the results of a figure with lines. They look like those of one probe that does not
    exist: its label and metric are those of the figure (`spec.probe`, `spec.metric`), and it has a
    scenario for each line and each planned scenario.

    Raises InputError if the run folder is damaged.
    """
    observed = _observed(run, spec.lines)
    measurements = planned_measurements(run.manifest(), planned.trials)
    derived = [
        _derived(spec, line, measurement, observed)
        for line in spec.lines
        for measurement in measurements
        if measurement.label == line.probe
    ]
    return Results(
        summarise(run, derived),
        [{LINE: line.name, **levels} for line in spec.lines for levels in planned.scenarios],
        [record for measurement in derived for record in measurement.trials],
    )


def _derived(
    spec: FigureSpec, line: FigureLine, measurement: PlannedMeasurement, observed: _Observed
) -> PlannedMeasurement:
    """Return a measurement as that of the made-up probe, with only what the line shows."""
    records = [_record(spec, line, record, observed) for record in measurement.trials]
    units = [sample["unit"] for record in records for sample in record.samples]
    if line.source is None:
        units += [metric.unit for metric in measurement.metrics if metric.name == line.metric]
    description = f"{line.metric} of {line.source or line.probe}"
    return replace(
        measurement,
        scenario={LINE: line.name, **measurement.scenario},
        label=spec.probe,
        metrics=(Metric(spec.metric, units[0] if units else "", description),),
        trials=tuple(records),
    )


def _record(
    spec: FigureSpec, line: FigureLine, record: TrialRecord, observed: _Observed
) -> TrialRecord:
    """Return a trial as one of the made-up probe: its only sample is the number that the line
    shows. A metric of a probe keeps its series, a monitor's has none."""
    unit, value = _number(line, record, observed)
    samples = [] if value is None else [{"metric": spec.metric, "unit": unit, "value": value}]
    return replace(
        record,
        label=spec.probe,
        scenario={LINE: line.name, **record.scenario},
        samples=tuple(samples),
        series={spec.metric: own} if line.source is None and (own := _series(line, record)) else {},
    )


def _series(line: FigureLine, record: TrialRecord) -> Sequence[float]:
    """Return the series of the line's metric in a trial; empty if there is none."""
    return list(record.series.get(line.metric, ()))


def _number(line: FigureLine, record: TrialRecord, observed: _Observed) -> tuple[str, float | None]:
    """Return unit and number that a line shows of a trial; the number is None if it has none."""
    if line.source is not None:
        return observed.get((record.trial_id, line.source, line.metric), ("", None))
    unit = next((s["unit"] for s in record.samples if s["metric"] == line.metric), "")
    return unit, trial_means(record).get(line.metric)


def _observed(run: RunStore, lines: Iterable[FigureLine]) -> _Observed:
    """Return the mean in each trial of the telemetry series that lines show; empty if no line shows
    any, or the run has no telemetry."""
    wanted = {(line.source, line.metric) for line in lines if line.source is not None}
    if not wanted or not run.telemetry_path.is_file():
        return {}
    import pyarrow
    import pyarrow.compute as compute

    from sfcperf.results.tables import TELEMETRY

    table = TELEMETRY.read(run.telemetry_path)
    metrics = pyarrow.array(sorted({metric for _, metric in wanted}))
    table = table.filter(
        compute.and_(compute.is_in(table["metric"], metrics), compute.is_finite(table["value"]))
    )
    keys = ["trial_id", "source", "metric", "unit"]
    rows = table.group_by(keys, use_threads=False).aggregate([("value", "mean")]).to_pylist()
    return {
        (row["trial_id"], row["source"], row["metric"]): (row["unit"], row["value_mean"])
        for row in rows
        if (row["source"], row["metric"]) in wanted and math.isfinite(row["value_mean"])
    }
