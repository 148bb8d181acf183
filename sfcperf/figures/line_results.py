"""Figures of several quantities: metrics of probes and observations of monitors, a line each.

What a line shows becomes results of the same form as those of probes, with its name as the level of
one more factor; so a figure with lines is resolved, drawn and tabled as any other. The unit of
replication stays the trial: the mean of what a monitor observed in it is one number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sfcperf.analysis.planned import PlannedMeasurement, planned_measurements
from sfcperf.analysis.summary import summarise
from sfcperf.figures.plot import Plot, resolve
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation.levels import Levels
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means
from sfcperf.results.values import Metric
from sfcperf.workflow.figures import LINE
from sfcperf.workflow.model import FigureLine, FigureSpec

Observed = Mapping[tuple[str, str, str], tuple[str, float]]
"""(Trial, source, metric) -> unit and mean."""


@dataclass(frozen=True)
class LineResults:
    """What the lines of a figure show, as results of a probe that is labelled as the figure."""

    summaries: list[Summary]
    scenarios: list[Levels]
    """Each planned scenario with each line."""
    trials: list[TrialRecord]


def line_results(
    run: RunStore,
    spec: FigureSpec,
    trials: Sequence[TrialRecord],
    scenarios: Sequence[Levels],
) -> LineResults:
    """Results for a figure with lines; `scenarios` are all that were planned.

    Raises InputError when the run folder is damaged.
    """
    observed = _observed(run, spec.lines)
    measurements = planned_measurements(run.manifest(), trials)
    derived = [
        _derived(spec, line, measurement, observed)
        for line in spec.lines
        for measurement in measurements
        if measurement.label == line.probe
    ]
    return LineResults(
        summarise(run, derived),
        [{LINE: line.name, **levels} for line in spec.lines for levels in scenarios],
        [record for measurement in derived for record in measurement.trials],
    )


def resolve_lines(
    run: RunStore,
    spec: FigureSpec,
    trials: Sequence[TrialRecord],
    scenarios: Sequence[Levels],
    index: TrialIndex,
) -> Plot:
    """The points of a figure with lines; `index` learns of the trials behind them."""
    found = line_results(run, spec, trials, scenarios)
    index.add(found.trials)
    return resolve(spec, found.summaries, found.scenarios, index)


def _derived(
    spec: FigureSpec, line: FigureLine, measurement: PlannedMeasurement, observed: Observed
) -> PlannedMeasurement:
    """A measurement with nothing but what a line shows."""
    records = [_record(spec, line, record, observed) for record in measurement.trials]
    units = [sample["unit"] for record in records for sample in record.samples]
    if line.source is None:
        units += [metric.unit for metric in measurement.metrics if metric.name == line.metric]
    about = f"{line.metric} of {line.source or line.probe}"
    return replace(
        measurement,
        scenario={LINE: line.name, **measurement.scenario},
        label=spec.probe,
        metrics=(Metric(spec.metric, units[0] if units else "", about),),
        trials=tuple(records),
    )


def _record(
    spec: FigureSpec, line: FigureLine, record: TrialRecord, observed: Observed
) -> TrialRecord:
    unit, value = _number(line, record, observed)
    samples = [] if value is None else [{"metric": spec.metric, "unit": unit, "value": value}]
    return replace(
        record,
        label=spec.probe,
        scenario={LINE: line.name, **record.scenario},
        samples=tuple(samples),
        series={},
    )


def _number(line: FigureLine, record: TrialRecord, observed: Observed) -> tuple[str, float | None]:
    if line.source is not None:
        return observed.get((record.trial_id, line.source, line.metric), ("", None))
    unit = next((s["unit"] for s in record.samples if s["metric"] == line.metric), "")
    return unit, trial_means(record).get(line.metric)


def _observed(run: RunStore, lines: Iterable[FigureLine]) -> Observed:
    """Means of what was observed in each trial, of the series that lines show."""
    wanted = {(line.source, line.metric) for line in lines if line.source is not None}
    if not wanted or not run.telemetry_path.is_file():
        return {}
    import pyarrow
    import pyarrow.compute as compute

    from sfcperf.results.telemetry import read

    table = read(run.telemetry_path)
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
