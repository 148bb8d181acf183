"""Charts of the report as JSON: means with intervals, trials as points, hover texts as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from sfcperf.counts import count_text
from sfcperf.figures.distribution import steps, thinned
from sfcperf.figures.fits import fit_text
from sfcperf.figures.notes import TIME_LABEL, curve_names, note
from sfcperf.figures.plot import Plot, Point, Series
from sfcperf.figures.published import by_label
from sfcperf.figures.time_curve import bands, corners
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_name, scenario_text
from sfcperf.presentation.pages import Chart, trial_anchor
from sfcperf.results.records import Summary, TrialRecord

if TYPE_CHECKING:
    from sfcperf.analysis.fits import LineFit


_POINTS_PER_CURVE = 300
_POINTS_OF_TRIALS, _FEWEST_PER_TRIAL = 3000, 20
"""Most points in the thin curves of a scenario's trials together. Each curve may have
_FEWEST_PER_TRIAL all the same, however many curves there are."""


@dataclass(frozen=True)
class MetricChart(Chart):
    """A metric of one run or of many, with what stands around its chart."""

    description: str
    """The chart in words, for readers who cannot see it."""
    primary: bool
    plot: Plot
    interval_title: str
    rows: tuple[tuple[str, str, str, str, str, str], ...]
    """Points in the order of legend and x axis: series, level, mean or median in the unit of the
    y axis, interval, valid trials, remark."""
    missing: tuple[str, ...]
    """Scenarios without any number, in words."""
    trials_without_value: tuple[str, ...] = ()
    """Trials that cannot be drawn, as they lack a value: the page lists them under the chart."""
    fits: tuple[tuple[str, ...], ...] = ()
    """Fitted lines: series, slope, intercept, quality, trials."""
    files: tuple[str, ...] = ()
    """Figure files, relative to the report."""
    runs_without: tuple[str, ...] = ()
    """In a report of many runs: those that did not measure this metric."""


def trial_link(record: TrialRecord) -> str:
    """Return where a click on a trial's point goes: to the trial's row in the same page."""
    return trial_anchor(record.trial_id)


def chart(
    identity: str,
    plot: Plot,
    trials: TrialIndex,
    fits: Mapping[str, LineFit] | None = None,
    files: Sequence[str] = (),
    link: Callable[[TrialRecord], str] = trial_link,
) -> MetricChart:
    """Make an interactive chart of a figure, whose data templates/page.js (sfcperf.presentation)
    draws. `identity`: id of its element in the page; `trials`: index of all trials, with which the
    plot was resolved; `fits`: name of a series -> its line; `files`: as MetricChart.files; `link`:
    where a click on a trial's point goes."""
    spec, fits = plot.spec, fits or {}
    of_probe = trials.of_probe(spec.probe)
    is_time = spec.kind == "time"
    data = {
        "kind": spec.kind,
        "xLabel": TIME_LABEL if is_time else spec.x_label,
        "yLabel": spec.y_label,
        "shareLabel": plot.share_label if plot.is_distribution else "",
        "ticks": []
        if is_time
        else [{"at": plot.position(v), "text": plot.tick_text(v)} for v in plot.levels],
        "series": _drawn_series(plot, fits, link),
        "published": _published(plot),
        "joined": not fits and spec.kind != "box",
    }
    levels = sorted({f"{100 * row.confidence:g} %" for row in plot.summaries})
    return MetricChart(
        identity,
        spec.title,
        note(plot, (), printed=False),  # without the fits, which have a table of their own
        data,
        f"{spec.y_label} against {spec.x_label}, {len(plot.series)} series, "
        f"{count_text(len(of_probe), 'trial')}.",
        any(row.primary for row in plot.summaries),
        plot,
        f"{' / '.join(levels)} CI".lstrip(),
        tuple(_table_row(plot, s.name, point) for s in plot.series for point in s.points),
        tuple(scenario_name(point.scenario) for point in plot.points if point.state == "missing"),
        tuple(record.trial_id for record, means in of_probe if spec.metric not in means),
        tuple(_fit_row(plot, name, fit) for name, fit in fits.items()),
        tuple(files),
    )


def _published(plot: Plot) -> list[dict[str, Any]]:
    """Return the published values by their names in the legend; null in `x` and `y` separates
    them. `series`: place of the series that each is drawn at."""
    drawn = []
    for label, values in by_label(plot).items():
        x: list[float | None] = []
        y: list[float | None] = []
        at: list[float] = []
        for value in values:
            # One that is not drawn has an entry in the legend all the same.
            points = () if value.beyond else value.points
            places = [plot.position(point.level) for point in points]
            ends = [min(places), max(places)] if len(places) > 1 else places
            x += [*ends, None]
            y += [*[value.value * plot.spec.y_scale] * len(ends), None]
            at += [value.index] * (len(ends) + 1)
        one = values[0].series
        style = palette.style(one[0]).plotly() if len(one) == 1 else None
        drawn.append(
            {"name": str(escape(label)), "style": style, "hollow": values[0].claim.digitised}
            | {"line": any(len(v.points) > 1 for v in values), "x": x, "y": y, "series": at}
        )
    return drawn


def _drawn_series(
    plot: Plot, fits: Mapping[str, LineFit], link: Callable[[TrialRecord], str]
) -> list[dict[str, Any]]:
    """Return `series` of the chart's data: distributions, curves over time, or points."""
    if plot.is_distribution:
        return _distributions(plot)
    if plot.spec.kind == "time":
        return _curves(plot)
    return [
        _series(plot, series, index, fits.get(series.name), link)
        for index, series in enumerate(plot.series)
    ]


def _series(
    plot: Plot,
    series: Series,
    index: int,
    fit: LineFit | None,
    link: Callable[[TrialRecord], str],
) -> dict[str, Any]:
    """Return a series of points: large ones for means or medians, small ones for trials. A scenario
    without a valid trial has no large point, but its trials are drawn."""
    shown = [point for point in series.points if point.state != "missing"]
    return {
        "name": str(escape(series.name)),
        "style": palette.style(index).plotly(),
        "points": [_centre(plot, point) for point in shown],
        "trials": [trial for point in series.points for trial in _trials(plot, point, link)],
        "fit": None if fit is None else _fit_line(plot, series, fit),
    }


def _centre(plot: Plot, point: Point) -> dict[str, Any]:
    """Return a large point: mean or median with its interval, in the unit of the y axis."""
    row, scale = point.summary, plot.spec.y_scale
    assert row is not None  # a missing point is not drawn
    estimate = plot.estimate(row)
    assert estimate.value is not None
    return {
        "x": plot.position(point.level),
        "y": estimate.value * scale,
        "low": None if estimate.low is None else estimate.low * scale,
        "high": None if estimate.high is None else estimate.high * scale,
        "trusted": point.state == "trusted",
        "text": _centre_text(plot, row),
    }


def _centre_text(plot: Plot, row: Summary) -> str:
    """Return the hover text of a mean or median. Plotly renders it as HTML, so that all words of
    the user are escaped."""
    estimate, centre = plot.estimate(row), plot.centre
    scale = units.scale_for([estimate.value or 0.0], row.unit, row.metric)
    half_width = estimate.half_width
    if half_width is None:
        number = f"{centre} {scale.quantity(estimate.value)}, no interval: {estimate.withheld}"
    else:
        ends = scale.interval(estimate.low, estimate.high)
        shown = f"{scale.number(estimate.value, half_width)} {ends}"
        number = f"{centre} {scale.with_unit(shown)} ({100 * row.confidence:g} % CI)"
    excluded = f", {len(row.excluded)} excluded" if row.excluded else ""
    title = f"<b>{escape(scenario_text(row.scenario) or row.label)}</b>"
    return "<br>".join([title, number, f"n = {count_text(row.n, 'valid trial')}{excluded}"])


def _trials(plot: Plot, point: Point, link: Callable[[TrialRecord], str]) -> list[dict[str, Any]]:
    """Return a point for each trial of a point's scenario that has a value, even if the trial does
    not count."""
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
    """Return the hover text of a trial's point, in HTML."""
    unit = next(s["unit"] for s in record.samples if s["metric"] == metric)
    shown = units.scale_for([value], unit, metric).quantity(value)
    lines = [f"<b>{escape(record.trial_id)}</b>", f"{shown}, {record.status}"]
    lines += [str(escape(reason)) for reason in record.reasons]
    return "<br>".join(lines)


def _fit_line(plot: Plot, series: Series, fit: LineFit) -> dict[str, Any]:
    """Return a fitted line from the first to the last level of a series."""
    ends = [plot.position(series.points[0].level), plot.position(series.points[-1].level)]
    y = [(fit.intercept + fit.slope * x) * plot.spec.y_scale for x in ends]
    return {"x": ends, "y": y, "text": fit_text(fit)}


def _fit_row(plot: Plot, name: str, fit: LineFit) -> tuple[str, ...]:
    """A row of the report's table of fitted lines: series (or the figure's title), slope with its
    interval, intercept, quality of the fit, number of trials."""
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


def _distributions(plot: Plot) -> list[dict[str, Any]]:
    """Return for each scenario a curve over all samples of its valid trials, and a thin curve for
    each of these trials (`trials`; None if each trial has one number). Curves are thinned evenly by
    rank."""
    curves = []
    for index, (name, point) in enumerate(zip(curve_names(plot), plot.points, strict=True)):
        trials = plot.samples(point)
        x, y = steps(thinned([value for trial in trials for value in trial], _POINTS_PER_CURVE))
        style = palette.style(index).plotly()
        curve = {"name": str(escape(name)), "style": style, "x": x, "y": y}
        single = None if plot.is_of_trials else _single_trials(trials)
        curves.append(curve | {"band": _band(plot, point), "trials": single})
    return curves


def _single_trials(trials: Sequence[Sequence[float]]) -> dict[str, list[float | None]]:
    """Return the curves of all trials as one line with a gap (null) after each trial."""
    most = max(_FEWEST_PER_TRIAL, _POINTS_OF_TRIALS // max(len(trials), 1))
    x: list[float | None] = []
    y: list[float | None] = []
    for trial in trials:
        values, shares = steps(thinned(trial, most))
        x += [*values, None]
        y += [*shares, None]
    return {"x": x, "y": y}


def _curves(plot: Plot) -> list[dict[str, Any]]:
    """Return a curve over time for each scenario, with the outlines of its bands."""
    curves, scale = [], plot.spec.y_scale
    for index, (name, point) in enumerate(zip(curve_names(plot), plot.points, strict=True)):
        steps = point.curve(plot.spec.metric, plot.centre)
        x, values = corners(steps)
        curve: dict[str, Any] = {
            "name": str(escape(name)), "style": palette.style(index).plotly(),
            "x": x, "y": [value * scale for value in values],
        }  # fmt: skip
        outlines = [
            {
                "x": [*times, *reversed(times)],
                "y": [value * scale for value in (*low, *reversed(high))],
            }
            for times, low, high in bands(steps)
        ]
        curves.append(curve | {"bands": outlines})
    return curves


def _band(plot: Plot, point: Point) -> dict[str, list[float]] | None:
    """Return the outline of a distribution's band, along its lower ends and back along its upper
    ones; None if it has no band."""
    found, scale = plot.band(point), plot.spec.y_scale
    if not found:
        return None
    there, back = (
        [percentile.low * scale for percentile in found],
        [percentile.high * scale for percentile in found],
    )
    shares = [percentile.percent / 100 for percentile in found]
    return {"x": [*there, *reversed(back)], "y": [*shares, *reversed(shares)]}


def _table_row(plot: Plot, name: str, point: Point) -> tuple[str, str, str, str, str, str]:
    """Return the row of a point in MetricChart.rows. `name`: that of its series."""
    row, scale = point.summary, units.Scale(plot.spec.y_scale, "")
    level = plot.tick_text(point.level)
    if row is None or row.mean is None:
        return name, level, "–", "–", "0", "no valid trial"
    remark = "" if point.state == "trusted" else "some trials excluded"
    estimate = plot.estimate(row)
    value = scale.number(estimate.value, estimate.half_width)
    return name, level, value, scale.interval(estimate.low, estimate.high), str(row.n), remark
