"""A chart's numbers for those who cannot see it, and its distributions for those who can."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import escape

from sfcperf.figures.distribution import steps, thinned
from sfcperf.figures.notes import curve_names
from sfcperf.figures.plot import Plot, Point
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import level_text

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
    points = plot.points
    for index, (name, point) in enumerate(zip(curve_names(plot), points, strict=True)):
        samples = [
            value * plot.spec.y_scale
            for trial in point.valid_trials
            for value in trial.samples(plot.spec.metric)
        ]
        x, y = steps(thinned(samples, _POINTS_PER_CURVE))
        look = {k: v for k, v in asdict(palette.style(index)).items() if k not in _NOT_DRAWN}
        curves.append({"name": str(escape(name)), "style": look, "x": x, "y": y})
    return curves


_NOT_DRAWN = ("marker", "line")


def _row(plot: Plot, name: str, point: Point) -> tuple[str, str, str, str, str, str]:
    row, scale = point.summary, plot.spec.y_scale
    level = level_text(point.level)
    if row is None or row.mean is None:
        return name, level, "–", "–", "0", "no valid trial"
    remark = "" if point.state == "trusted" else "some trials do not count"
    found = plot.estimate(row)
    assert found.value is not None
    if found.low is None or found.high is None or found.half_width is None:
        return name, level, units.number(found.value * scale), "–", str(row.n), remark
    half = found.half_width * scale
    ends = [units.number(end * scale, half) for end in (found.low, found.high)]
    return (
        name,
        level,
        units.number(found.value * scale, half),
        f"[{ends[0]}, {ends[1]}]",
        str(row.n),
        remark,
    )
