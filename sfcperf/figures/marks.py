"""Marks of a figure: means with intervals as points or bars, boxes, distributions, fitted lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfcperf.figures.distribution import MIN_TRIALS_FOR_BOX, steps
from sfcperf.figures.plot import Plot, Point, Published, Series
from sfcperf.figures.time_curve import bands, corners
from sfcperf.presentation import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sfcperf.analysis.fits import LineFit

_JITTER = (0.0, 0.5, -0.5, 0.25, -0.25, 0.75, -0.75)
"""Offsets of successive trials from the middle of a box, as shares of its half-width. They are
fixed, so that the same results give the same figure."""
_ASIDE, _MOST_ASIDE = 0.012, 0.05
"""Distance between neighbouring series, and most between the outermost: shares of the x axis."""
_GROUPED = ("bar", "box")
"""Kinds of figures whose series stand beside each other at each level."""


def series_marks(axes: Axes, plot: Plot, series: Series, index: int, *, joined: bool) -> None:
    """Draw a series as the figure's kind says. `index`: place of the series in the figure, which
    gives its style; `joined`: whether a line connects its points."""
    if plot.spec.kind == "bar":
        _bars(axes, plot, series, index)
    elif plot.spec.kind == "box":
        _boxes(axes, plot, series, index)
    else:
        _line(axes, plot, series, index, joined=joined)


def fit_mark(axes: Axes, plot: Plot, series: Series, fit: LineFit, index: int) -> None:
    """Draw the fitted line over the levels that were measured, and not beyond them. Bars stand in
    equal steps whatever their levels are; over bars the line bends where the distance of levels
    changes."""
    look = palette.style(index)
    grouped = is_grouped(plot)
    points = sorted(series.points, key=lambda point: plot.position(point.level))
    points = points if grouped else [points[0], points[-1]]
    levels = [plot.position(point.level) for point in points]
    axes.plot(
        [_grouped_position(plot, point, index) for point in points] if grouped else levels,
        [(fit.intercept + fit.slope * level) * plot.spec.y_scale for level in levels],
        linestyle=look.line,
        linewidth=_thin(),
        # Over bars the line needs another colour than theirs to be seen.
        color="black" if grouped else look.colour,
        zorder=3 if grouped else None,
    )


def missing_marks(axes: Axes, plot: Plot, series: Series, index: int) -> None:
    """Draw a cross at the foot of the plot for each scenario without a number."""
    look = palette.style(index)
    for point in series.points:
        if point.state == "missing":
            x = (_grouped_position if is_grouped(plot) else _x)(plot, point, index)
            height = 0.03 if is_grouped(plot) else 0.03 + 0.06 * index
            place = axes.get_xaxis_transform()
            axes.plot([x], [height], "x", color=look.colour, transform=place, clip_on=False)


def distribution_marks(axes: Axes, plot: Plot) -> None:
    """Draw empirical distributions, for each scenario: a thick line over all samples of its valid
    trials, behind it a thin line for each trial, and the band of a typical trial. Of distributions
    of trials there is the thick line alone."""
    for index, point in enumerate(plot.points):
        look = palette.style(index)
        trials = plot.samples(point)
        scale = plot.spec.y_scale
        of_typical = plot.band(point)
        axes.fill_betweenx(
            [percentile.percent / 100 for percentile in of_typical],
            [percentile.low * scale for percentile in of_typical],
            [percentile.high * scale for percentile in of_typical],
            color=look.colour,
            alpha=0.2,
            linewidth=0,
        )
        for samples in () if plot.is_of_trials else trials:
            x, y = steps(samples)
            axes.step(
                x, y, where="post", color=look.colour, linewidth=0.4 * _thin(), alpha=0.6,
                zorder=1.5,
            )  # fmt: skip
        x, y = steps([value for samples in trials for value in samples])
        axes.step(x, y, where="post", color=look.colour, linestyle=look.line)


def time_marks(axes: Axes, plot: Plot) -> None:
    """Draw a curve per scenario: the centre of its trials in each step of time, with the interval
    as a band."""
    scale = plot.spec.y_scale
    for index, point in enumerate(plot.points):
        look = palette.style(index)
        steps = point.curve(plot.spec.metric, plot.centre)
        for times_s, low, high in bands(steps):
            lower, upper = [value * scale for value in low], [value * scale for value in high]
            axes.fill_between(times_s, lower, upper, color=look.colour, alpha=0.2, linewidth=0)
        times_s, values = corners(steps)
        y = [value * scale for value in values]
        axes.plot(times_s, y, color=look.colour, linestyle=look.line)


def published_marks(axes: Axes, plot: Plot) -> None:
    """Draw the published values: a star at a scenario, a line with stars at its ends across a
    series. What was read off a plot is hollow."""
    place = _grouped_position if is_grouped(plot) else _x
    for value in plot.published:
        if value.beyond:
            continue
        x = [place(plot, point, value.index) for point in value.points]
        ends = [min(x), max(x)] if len(x) > 1 else x
        axes.plot(ends, [value.value * plot.spec.y_scale] * len(ends), zorder=5, **star(value))


def star(value: Published) -> dict[str, Any]:
    """Return how a published value is drawn, as matplotlib's properties of a line. It has the
    colour of its series."""
    one = len(value.series) == 1
    colour = palette.style(value.series[0]).colour if one else "black"
    return {
        "marker": "*",
        "markersize": 8 * _thin(),
        "color": colour,
        "markerfacecolor": "white" if value.claim.digitised else colour,
        # A rim tells it from a bar or a mark of the same colour.
        "markeredgecolor": colour if value.claim.digitised else "white",
        "markeredgewidth": 0.6 * _thin(),
        "linestyle": (0, (1, 2)) if len(value.points) > 1 else "none",
        "linewidth": _thin(),
    }


def is_grouped(plot: Plot) -> bool:
    """Whether the marks of the series stand beside each other, at a place per level."""
    return plot.spec.kind in _GROUPED


def drawn_values(plot: Plot) -> list[float]:
    """List the values that marks reach, in the unit that is drawn: the axis must contain them."""
    estimates = [plot.estimate(row) for row in plot.summaries]
    values = [v for e in estimates for v in (e.value, e.low, e.high)]
    if plot.spec.kind == "box":
        values += [trial.value for point in plot.points for trial in point.trials]
    values += [published.value for published in plot.published if not published.beyond]
    return [value * plot.spec.y_scale for value in values if value is not None]


def _line(axes: Axes, plot: Plot, series: Series, index: int, *, joined: bool) -> None:
    """Draw the points of a series with their intervals; untrusted points are hollow."""
    look = palette.style(index)
    shown = [point for point in series.points if point.state != "missing"]
    if joined:
        x = [_x(plot, point, index) for point in shown]
        axes.plot(x, [_y(p, plot) for p in shown], linestyle=look.line, color=look.colour)
    for state, face in (("trusted", look.colour), ("untrusted", "white")):
        points = [point for point in shown if point.state == state]
        axes.errorbar(
            [_x(plot, point, index) for point in points],
            [_y(point, plot) for point in points],
            yerr=_errors(points, plot),
            fmt=look.marker,
            color=look.colour,
            markerfacecolor=face,
            elinewidth=_thin(),
            capthick=_thin(),
        )


def _bars(axes: Axes, plot: Plot, series: Series, index: int) -> None:
    """Draw the bars of a series with their intervals; untrusted bars are hollow."""
    look = palette.style(index)
    for point in series.points:
        if point.state == "missing":
            continue
        trusted = point.state == "trusted"
        axes.bar(
            _grouped_position(plot, point, index),
            _y(point, plot),
            width=0.94 * _group_width(plot),
            yerr=_errors([point], plot),
            color=look.colour if trusted else "white",
            edgecolor="white" if trusted else look.colour,
            hatch=3 * look.hatch,
            error_kw={"elinewidth": _thin(), "capthick": _thin()},
        )


def _boxes(axes: Axes, plot: Plot, series: Series, index: int) -> None:
    """Draw a box over the valid trials, each of these as a point, other trials as crosses, and the
    centre with its interval."""
    look = palette.style(index)
    width = _group_width(plot)
    for point in series.points:
        x = _grouped_position(plot, point, index)
        values = [trial.value * plot.spec.y_scale for trial in point.valid_trials]
        if len(values) >= MIN_TRIALS_FOR_BOX:
            line = {"color": look.colour, "linewidth": _thin()}
            axes.boxplot(
                [values],
                positions=[x],
                widths=0.8 * width,
                showfliers=False,
                manage_ticks=False,
                boxprops=line,
                whiskerprops=line,
                capprops=line,
                medianprops={**line, "linewidth": 1.8 * _thin()},
            )
        for number, trial in enumerate(point.trials):
            counts = trial.record.status == "valid"
            axes.plot(
                [x + 0.3 * width * _JITTER[number % len(_JITTER)]],
                [trial.value * plot.spec.y_scale],
                look.marker if counts else "x",
                color=look.colour if counts else "#a5191f",
                markeredgewidth=0.2 if counts else 0.8,
                markersize=2.5 * _thin(),
                alpha=0.7 if counts else 1.0,
            )
        if point.state != "missing":
            axes.errorbar(
                [x],
                [_y(point, plot)],
                yerr=_errors([point], plot),
                fmt="_",
                markersize=7 * _thin(),
                color="black",
                elinewidth=_thin(),
                zorder=4,
            )


def _group_width(plot: Plot) -> float:
    """Return the width of a bar or box, as a share of the distance between two levels."""
    return 0.8 / max(len(plot.series), 1)


def _grouped_position(plot: Plot, point: Point, index: float) -> float:
    """Return the place of a point on an axis of bars or boxes, where series stand beside each
    other."""
    offset = (index - (len(plot.series) - 1) / 2) * _group_width(plot)
    return plot.place(point.level) + offset


def _x(plot: Plot, point: Point, index: float) -> float:
    """Return the place of a point on the x axis. Series are moved a little aside of each other,
    because their marks would hide each other."""
    places = [plot.position(level) for level in plot.levels]
    count = len(plot.series)
    aside = min(_ASIDE, _MOST_ASIDE / max(count - 1, 1)) * (max(places) - min(places))
    return plot.position(point.level) + (index - (count - 1) / 2) * aside


def _thin() -> float:
    """Return the width of error bars, boxes and fitted lines in the current style, in points."""
    import matplotlib

    return 0.8 * float(matplotlib.rcParams["lines.linewidth"])


def _y(point: Point, plot: Plot) -> float:
    """Return the value of a point in the unit that is drawn; NaN, for which nothing is drawn,
    without one."""
    value = plot.estimate(point.summary).value if point.summary is not None else None
    return float("nan") if value is None else value * plot.spec.y_scale


def _errors(points: Sequence[Point], plot: Plot) -> list[list[float]]:
    """Return the distances from the values down and up to the ends of their intervals, as
    matplotlib's `yerr` takes them."""
    ends = [_error(point, plot) for point in points]
    return [[below for below, _ in ends], [above for _, above in ends]]


def _error(point: Point, plot: Plot) -> tuple[float, float]:
    """Return the distances from a point's value to the ends of its interval; NaN, for which nothing
    is drawn, without an interval."""
    row = point.summary
    found = None if row is None else plot.estimate(row)
    if found is None or found.value is None or found.low is None or found.high is None:
        return float("nan"), float("nan")
    scale = plot.spec.y_scale
    # The numbers may come from a file, whose interval need not contain the value.
    below, above = found.value - found.low, found.high - found.value
    return max(below, 0.0) * scale, max(above, 0.0) * scale
