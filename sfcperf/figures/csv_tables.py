"""The numbers of a figure as CSV: a row per point, a row per trial, a row per sample."""

from __future__ import annotations

from collections.abc import Iterable

from sfcperf.figures.plot import Plot, Point
from sfcperf.presentation.levels import level_text
from sfcperf.results.tables import csv_text, factor_names
from sfcperf.workflow.figures import LINE
from sfcperf.workflow.model import FigureSpec

_STATISTICS = ("n", "mean", "median", "stdev", "ci_low", "ci_high", "confidence", "method")
"""Columns with attributes of a point's summary."""
_OF_MEDIAN = ("median_ci_low", "median_ci_high", "median_method")
"""Columns of the median's interval; `ci_low`, `ci_high` and `method` are those of the mean."""
_DRAWN = ("y", "y_low", "y_high")
"""Columns of a value and its interval in the unit that is drawn."""


def data_csv(plot: Plot) -> str:
    """Return a row per point of a figure: factor levels, statistics in the unit of the files,
    trial ids, and `y`, `y_low`, `y_high` as drawn."""
    factors = _factors(plot)
    statistics = (*_STATISTICS, *_OF_MEDIAN)
    head = ["series", *factors, "probe", "metric", "unit", *statistics, *_DRAWN]
    rows: list[list[object]] = [[*head, "state", "reasons", "trials", "excluded"]]
    for series in plot.series:
        for point in series.points:
            row = point.summary
            cells = [series.name, *_level_cells(point, factors), *_source(plot, point)]
            if row is None:
                # For the unit, the statistics and the drawn values.
                blanks = [""] * (1 + len(statistics) + len(_DRAWN))
                rows.append([*cells, *blanks, point.state, "no trial", "", ""])
                continue
            drawn = plot.estimate(row)
            scaled = [_scaled(v, plot.spec) for v in (drawn.value, drawn.low, drawn.high)]
            values = [row.unit, *(getattr(row, name) for name in statistics), *scaled]
            ids = ("; ".join(row.reasons), " ".join(row.trials), " ".join(row.excluded))
            rows.append([*cells, *values, point.state, *ids])
    return csv_text(rows)


def trials_csv(plot: Plot) -> str:
    """Return a row per trial behind a figure, also for those that do not count: its `value` (mean
    of its samples) in the unit of the files, and `y` as drawn."""
    factors = _factors(plot)
    head = ["series", *factors, "probe", "metric", "unit", "trial", "round", "status", "samples"]
    rows = [[*head, "value", "y"]]
    for series in plot.series:
        for point in series.points:
            for trial in point.trials:
                record = trial.record
                of_metric = trial.samples(plot.spec.metric)
                cells = [series.name, *_level_cells(point, factors), *_source(plot, point)]
                about = [_unit(plot, point), record.trial_id, str(record.round), record.status]
                y = _scaled(trial.value, plot.spec)
                rows.append([*cells, *about, str(len(of_metric)), repr(trial.value), y])
    return csv_text(rows)


def samples_csv(plot: Plot) -> str:
    """Return a row per sample of the valid trials of a distribution, in the order of
    measurement."""
    factors = _factors(plot)
    rows = [["series", *factors, "probe", "metric", "unit", "trial", "sample", "value", "y"]]
    for series in plot.series:
        for point in series.points:
            cells = [series.name, *_level_cells(point, factors), plot.spec.probe, plot.spec.metric]
            for trial in point.valid_trials:
                about = [*cells, _unit(plot, point), trial.record.trial_id]
                for number, value in enumerate(trial.series(plot.spec.metric), 1):
                    rows.append([*about, str(number), repr(value), _scaled(value, plot.spec)])
    return csv_text(rows)


def band_csv(plot: Plot) -> str:
    """Return a row per point of a distribution's bands: a percentile of a typical trial with its
    interval, in the unit of the files, and the interval as drawn."""
    factors = _factors(plot)
    head = ["series", *factors, "probe", "metric", "unit", "percent", "value", "low", "high"]
    rows = [[*head, "confidence", "y_low", "y_high"]]
    for series in plot.series:
        for point in series.points:
            cells = [series.name, *_level_cells(point, factors), *_source(plot, point)]
            for band_point in plot.band(point):
                values = [
                    repr(value) for value in (band_point.value, band_point.low, band_point.high)
                ]
                drawn = [_scaled(band_point.low, plot.spec), _scaled(band_point.high, plot.spec)]
                about = [_unit(plot, point), str(band_point.percent), *values]
                confidence = "" if point.summary is None else repr(point.summary.confidence)
                rows.append([*cells, *about, confidence, *drawn])
    return csv_text(rows)


def time_csv(plot: Plot) -> str:
    """Return a row per step of the curves over time: its value and interval, in the unit of the
    files and as drawn."""
    factors = _factors(plot)
    head = ["series", *factors, "probe", "metric", "unit", "start_s", "end_s", "centre", "value"]
    rows = [[*head, "low", "high", "confidence", *_DRAWN]]
    for series in plot.series:
        for point in series.points:
            cells = [series.name, *_level_cells(point, factors), *_source(plot, point)]
            for step in point.curve(plot.spec.metric, plot.centre):
                values = (step.value, step.low, step.high)
                times = [f"{step.start_s:.9g}", f"{step.end_s:.9g}"]
                about = [_unit(plot, point), *times, plot.centre]
                about += ["" if value is None else repr(value) for value in values]
                confidence = "" if point.summary is None else repr(point.summary.confidence)
                drawn = [_scaled(value, plot.spec) for value in values]
                rows.append([*cells, *about, confidence, *drawn])
    return csv_text(rows)


def published_csv(plot: Plot) -> str:
    """Return a row per published value and scenario that it is about: the value in the unit of the
    files, and as drawn. The value of several scenarios is that of their mean."""
    factors = _factors(plot)
    rows = [["claim", "source", "digitised", *factors, "unit", "value", "y"]]
    for published in plot.published:
        claim, y = published.claim, _scaled(published.value, plot.spec)
        about = [claim.id, claim.source, str(claim.digitised).lower()]
        for point in published.points:
            cells = [*about, *_level_cells(point, factors), claim.unit]
            rows.append([*cells, repr(published.value), y])
    return csv_text(rows)


def _source(plot: Plot, point: Point) -> tuple[str, str]:
    """Return the label of the probe and the metric that a point shows. For a line of telemetry the
    metric is that of the monitor, with its source before it."""
    for line in plot.spec.lines:
        if point.scenario[LINE] == line.name:
            return line.probe, f"{line.source}: {line.metric}" if line.source else line.metric
    return plot.spec.probe, plot.spec.metric


def _factors(plot: Plot) -> list[str]:
    """List the factors of a figure's points."""
    return factor_names(point.scenario for point in plot.points)


def _level_cells(point: Point, factors: Iterable[str]) -> list[str]:
    """Return the cells with a point's levels of these factors; empty where it lacks one."""
    return [level_text(point.scenario[f]) if f in point.scenario else "" for f in factors]


def _unit(plot: Plot, point: Point) -> str:
    """Return the unit of a point's metric in the files. A point without a summary has a trial."""
    if point.summary is not None:
        return point.summary.unit
    samples = point.trials[0].record.samples
    return next(str(s["unit"]) for s in samples if s["metric"] == plot.spec.metric)


def _scaled(value: float | None, spec: FigureSpec) -> str:
    """Return a value in the unit that is drawn, as a cell; empty for None."""
    return "" if value is None else repr(value * spec.y_scale)
