"""Charts of the report as JSON values: every mean with its interval, every trial as a point.

Values are scaled to what is drawn; hover texts are the HTML subset that plotly renders, with all
words of the user escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from sfcperf.figures import Plot, Point, Series, TrialIndex, fit_text, note
from sfcperf.presentation import (
    level_text,
    palette,
    scenario_name,
    scenario_text,
    trial_anchor,
    units,
)
from sfcperf.report.chart_table import ChartTable, chart_table, distributions
from sfcperf.results.records import Summary, TrialRecord

if TYPE_CHECKING:
    from sfcperf.analysis.fits import LineFit


@dataclass(frozen=True)
class Chart:
    """A chart and what stands around it."""

    id: str
    title: str
    description: str
    """For those who cannot see it."""
    note: str
    trials_without_value: tuple[str, ...]
    """They cannot be drawn: listed under the chart."""
    missing: tuple[str, ...]
    """Scenarios without any number, in words."""
    fits: tuple[tuple[str, ...], ...]
    """Fitted lines: series, slope, intercept, quality, trials."""
    runs_without: tuple[str, ...]
    """Of many runs, those that did not measure this."""
    primary: bool
    files: tuple[str, ...]
    """Figure files, relative to the report."""
    table: ChartTable
    """The means as a table: for those who cannot see the chart."""
    data: Mapping[str, Any]
    """What the browser draws."""


def trial_link(record: TrialRecord) -> str:
    """Where a trial's point leads: to its row in the same page."""
    return trial_anchor(record.trial_id)


def chart(
    identity: str,
    plot: Plot,
    trials: TrialIndex,
    fits: Mapping[str, LineFit] | None = None,
    files: Sequence[str] = (),
    link: Callable[[TrialRecord], str] = trial_link,
) -> Chart:
    """A figure as an interactive chart. The plot was resolved with `trials`, the index of all
    trials; `fits`: name of a series -> its line; `link`: where a trial's point leads."""
    spec, fits = plot.spec, fits or {}
    of_probe = trials.of_probe(spec.probe)
    data = {
        "kind": spec.kind,
        "xLabel": spec.x_label,
        "yLabel": spec.y_label,
        "ticks": [{"at": plot.position(v), "text": level_text(v)} for v in plot.levels],
        "series": distributions(plot)
        if spec.kind == "ecdf"
        else [
            _series(plot, series, index, fits.get(series.name), link)
            for index, series in enumerate(plot.series)
        ],
        "joined": not fits and spec.kind != "box",
    }
    return Chart(
        identity,
        spec.title,
        f"{spec.y_label} against {spec.x_label}, {len(plot.series)} series, "
        f"{len(of_probe)} trials.",
        note(plot, (), printed=False),
        tuple(record.trial_id for record, means in of_probe if spec.metric not in means),
        tuple(scenario_name(point.scenario) for point in plot.points if point.state == "missing"),
        tuple(_fit_row(plot, name, fit) for name, fit in fits.items()),
        (),
        any(row.primary for row in plot.summaries),
        tuple(files),
        chart_table(plot),
        data,
    )


def _series(
    plot: Plot,
    series: Series,
    index: int,
    fit: LineFit | None,
    link: Callable[[TrialRecord], str],
) -> dict[str, Any]:
    shown = [point for point in series.points if point.state != "missing"]
    return {
        "name": str(escape(series.name)),
        "style": palette.style(index).plotly(),
        "points": [_mean(plot, point) for point in shown],
        "trials": [trial for point in series.points for trial in _trials(plot, point, link)],
        "fit": None if fit is None else _fit_line(plot, series, fit),
    }


def _mean(plot: Plot, point: Point) -> dict[str, Any]:
    row, scale = point.summary, plot.spec.y_scale
    assert row is not None  # a missing point is not drawn
    found = plot.estimate(row)
    assert found.value is not None
    return {
        "x": plot.position(point.level),
        "y": found.value * scale,
        "low": None if found.low is None else found.low * scale,
        "high": None if found.high is None else found.high * scale,
        "trusted": point.state == "trusted",
        "text": _mean_text(plot, row),
    }


def _mean_text(plot: Plot, row: Summary) -> str:
    found, centre = plot.estimate(row), plot.centre
    scale = units.scale_for([found.value or 0.0], row.unit, row.metric)
    half_width = found.half_width
    if half_width is None:
        number = f"{centre} {scale.quantity(found.value)}, no interval"
    else:
        shown = scale.estimate(found.value, half_width)
        if centre == "median":  # its interval need not be symmetric
            ends = scale.interval(found.low, found.high)
            shown = f"{scale.number(found.value, half_width)} {ends}"
        number = f"{centre} {scale.with_unit(shown)} ({100 * row.confidence:g} % CI)"
    excluded = f", {len(row.excluded)} excluded" if row.excluded else ""
    title = f"<b>{escape(scenario_text(row.scenario) or row.label)}</b>"
    return "<br>".join([title, number, f"n = {row.n} valid trials{excluded}"])


def _trials(plot: Plot, point: Point, link: Callable[[TrialRecord], str]) -> list[dict[str, Any]]:
    """Trials of a point's scenario that have a value, also those that do not count."""
    return [
        {
            "x": plot.position(point.level),
            "y": trial.value * plot.spec.y_scale,
            "anchor": link(trial.record),
            "status": trial.record.status,
            "text": _trial_text(trial.record, plot.spec.metric, trial.value),
        }
        for trial in point.trials
    ]


def _trial_text(record: TrialRecord, metric: str, value: float) -> str:
    unit = next(s["unit"] for s in record.samples if s["metric"] == metric)
    shown = units.scale_for([value], unit, metric).quantity(value)
    lines = [f"<b>{escape(record.trial_id)}</b>", f"{shown}, {record.status}"]
    lines += [str(escape(reason)) for reason in record.reasons]
    return "<br>".join(lines)


def _fit_line(plot: Plot, series: Series, fit: LineFit) -> dict[str, Any]:
    ends = [plot.position(series.points[0].level), plot.position(series.points[-1].level)]
    y = [(fit.intercept + fit.slope * x) * plot.spec.y_scale for x in ends]
    return {"x": ends, "y": y, "text": fit_text(fit)}


def _fit_row(plot: Plot, name: str, fit: LineFit) -> tuple[str, ...]:
    unit = next((row.unit for row in plot.summaries), "")
    scale = units.scale_for([fit.slope], unit, plot.spec.metric)
    half_width = units.half_width(fit.slope_low, fit.slope_high)
    slope = scale.with_unit(scale.estimate(fit.slope, half_width))
    return (
        name or plot.spec.title,
        f"{slope} per {plot.spec.x.replace('_', ' ')}",
        units.scale_for([fit.intercept], unit, plot.spec.metric).quantity(fit.intercept),
        fit_text(fit),
        str(fit.n),
    )
