"""A chart's numbers for those who cannot see it, and its distributions for those who can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from sfcperf.figures import Plot, Point, curve_names, steps, thinned
from sfcperf.presentation import level_text, palette, units

_POINTS_PER_CURVE = 300


@dataclass(frozen=True)
class ChartTable:
    """The points of a chart, in the unit of its axis."""

    x_title: str
    y_title: str
    interval_title: str
    centre: str
    """`mean` or `median`."""
    named: bool
    """Whether series have names."""
    rows: tuple[tuple[str, str, str, str, str, str], ...]
    """Series, level, mean or median, interval, valid trials, remark."""


def chart_table(plot: Plot) -> ChartTable:
    """A row per point, in the order of the legend and the x axis."""
    levels = sorted({f"{100 * row.confidence:g} %" for row in plot.summaries})
    return ChartTable(
        plot.spec.x_label,
        plot.spec.y_label,
        f"{' / '.join(levels)} CI".lstrip(),
        plot.centre,
        any(series.name for series in plot.series),
        tuple(_row(plot, s.name, point) for s in plot.series for point in s.points),
    )


def distributions(plot: Plot) -> list[dict[str, Any]]:
    """A curve per scenario, over all samples of its valid trials, thinned evenly by rank."""
    curves = []
    for index, (name, point) in enumerate(zip(curve_names(plot), plot.points, strict=True)):
        samples = [
            value * plot.spec.y_scale
            for trial in point.valid_trials
            for value in trial.samples(plot.spec.metric)
        ]
        x, y = steps(thinned(samples, _POINTS_PER_CURVE))
        style = palette.style(index).plotly()
        curves.append({"name": str(escape(name)), "style": style, "x": x, "y": y})
    return curves


def _row(plot: Plot, name: str, point: Point) -> tuple[str, str, str, str, str, str]:
    row, scale = point.summary, units.Scale(plot.spec.y_scale, "")
    level = level_text(point.level)
    if row is None or row.mean is None:
        return name, level, "–", "–", "0", "no valid trial"
    remark = "" if point.state == "trusted" else "some trials excluded"
    found = plot.estimate(row)
    value = scale.number(found.value, found.half_width)
    return name, level, value, scale.interval(found.low, found.high), str(row.n), remark
