"""Draws a plot by matplotlib and writes its files: SVG, PDF and PNG."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.figures.fits import fit_text
from sfcperf.figures.frame import framed, save, settings, visible_label, wrap_labels
from sfcperf.figures.layout import PAPER, FigureLayout
from sfcperf.figures.marks import (
    distribution_marks,
    drawn_values,
    fit_mark,
    is_grouped,
    missing_marks,
    published_marks,
    series_marks,
    star,
    time_marks,
)
from sfcperf.figures.notes import TIME_LABEL, curve_names, note
from sfcperf.figures.plot import Plot
from sfcperf.figures.published import by_label
from sfcperf.figures.text_width import width_pt
from sfcperf.presentation import palette
from sfcperf.presentation.wording import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sfcperf.analysis.fits import LineFit

_AXES_SHARE = 0.82
"""Share of the figure's width that the plot takes, roughly; the rest is the y axis."""
_GAP_EM = 0.8
"""Least distance between labels of ticks, in type sizes."""
_LONGEST = 28
"""Most letters of a tick's label; longer ones are cut in the middle."""


def draw(
    plot: Plot, fits: Mapping[str, LineFit], target: Path, layout: FigureLayout = PAPER
) -> list[Path]:
    """Draw a plot, and write `target` with the ending of each format; return these files. `fits`:
    name of a series -> its fitted line."""
    with settings(layout):
        return save(_figure(plot, fits, layout), target, layout)


def _figure(plot: Plot, fits: Mapping[str, LineFit], layout: FigureLayout) -> Figure:
    """Make the figure of a plot with note and legend. Call it within `settings`."""
    handles = _handles(plot, fits)
    labels = [str(handle.get_label()) for handle in handles]
    figure, axes, columns = framed(layout, layout.style.axes_mm, note(plot, fits), labels)
    _draw_series(axes, plot, fits)
    # matplotlib gives the limits of data an infinite width as long as nothing is drawn.
    if plot.is_per_scenario and not isfinite(axes.dataLim.width):
        _say_empty(axes)
    wrap_labels(axes, layout)
    if handles:
        # The legend is above the axes, so that it never covers data.
        figure.legend(
            handles=handles, loc="outside upper left", ncols=columns, handlelength=2.6,
            columnspacing=1.2, borderaxespad=0.0, labelspacing=0.2,
        )  # fmt: skip
    _set_ticks(axes, plot, layout)
    return figure


def _draw_series(axes: Axes, plot: Plot, fits: Mapping[str, LineFit]) -> None:
    """Draw the marks of all series and label the axes. A fitted line replaces the lines that
    connect points."""
    if plot.is_distribution:
        distribution_marks(axes, plot)
        axes.set_xlabel(printable(plot.spec.y_label))
        axes.set_ylabel(plot.share_label)
        axes.set_ylim(0, 1.01)
        return
    if plot.spec.kind == "time":
        time_marks(axes, plot)
        axes.set_xlabel(TIME_LABEL)
        axes.set_ylabel(printable(plot.spec.y_label))
        axes.margins(x=0)
        if axes.dataLim.ymin >= 0:
            axes.set_ylim(bottom=0)
        return
    for index, series in enumerate(plot.series):
        fit = fits.get(series.name)
        series_marks(axes, plot, series, index, joined=not fits)
        if fit is not None:
            fit_mark(axes, plot, series, fit, index)
        missing_marks(axes, plot, series, index)
    published_marks(axes, plot)
    axes.set_xlabel(printable(plot.spec.x_label))
    axes.set_ylabel(printable(plot.spec.y_label))
    if is_grouped(plot):
        axes.grid(False, axis="x")
    values = drawn_values(plot)
    # The axis begins at zero, so that lengths compare as the numbers do. Boxes show a spread, not a
    # length, and need no zero.
    if min(values, default=0) >= 0 and plot.spec.kind != "box":
        axes.set_ylim(bottom=0, top=1.08 * max(values, default=0) or 1)


def _say_empty(axes: Axes) -> None:
    """Replace the ticks by the words `nothing to draw`: numbers on axes without a curve would look
    like results."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, "nothing to draw", transform=axes.transAxes, ha="center", color="#444444")


def _set_ticks(axes: Axes, plot: Plot, layout: FigureLayout) -> None:
    """Set the limits of the x axis, and a tick at each level. Labels without room are turned
    (categories), and left out if that is not enough."""
    size_pt = layout.style.font_pt - 1
    if plot.is_per_scenario or not plot.levels:
        return
    grouped = is_grouped(plot)
    places = [float(plot.place(v)) if grouped else plot.position(v) for v in plot.levels]
    labels = [_middle_cut(printable(plot.tick_text(level))) for level in plot.levels]
    categories = grouped or not plot.numeric
    margin = 0.5 if categories else 0.05 * max(places[-1] - places[0], 1)
    low, high = min(places) - margin, max(places) + margin
    axes.set_xlim(low, high)
    per_unit = _AXES_SHARE * layout.width_pt / (high - low)
    widths = [width_pt(label, size_pt) + _GAP_EM * size_pt for label in labels]
    shown = _fitting(places, widths, per_unit)
    turned = categories and len(shown) < len(places)
    if turned:
        # Beside each other, labels turned by 35 degrees need about 1.6 times their height.
        shown = _fitting(places, [1.7 * size_pt] * len(places), per_unit)
    axes.set_xticks([places[i] for i in shown], [labels[i] for i in shown])
    for label in axes.get_xticklabels() if turned else ():
        label.set(rotation=35, ha="right", rotation_mode="anchor")


def _fitting(places: list[float], widths: list[float], per_unit: float) -> list[int]:
    """Return the indices of the labels that fit beside each other, chosen from the left. `places`:
    in units of the axis, which are `per_unit` points each; `widths`: in points."""
    fitting: list[int] = []
    for index, place in enumerate(places):
        if fitting:
            room = (place - places[fitting[-1]]) * per_unit
            if room < (widths[index] + widths[fitting[-1]]) / 2:
                continue
        fitting.append(index)
    return fitting


def _middle_cut(label: str) -> str:
    """Cut a long label in the middle: names differ at their ends as often as at their starts."""
    half = _LONGEST // 2
    return label if len(label) <= _LONGEST else f"{label[:half]}…{label[-half + 1 :]}"


def _handles(plot: Plot, fits: Mapping[str, LineFit]) -> list[Artist]:
    """Make the entries of the legend, a curve's name and how well its line fits, and the sources of
    published values; none for a single curve without a name."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for index, name in enumerate(curve_names(plot)):
        look = palette.style(index)
        fit = fits.get(name)
        words = printable(name or (plot.spec.title if fit else ""))
        label = f"{words} ({fit_text(fit)})".lstrip() if fit else words
        if not label:
            continue
        if plot.spec.kind == "bar":
            handle: Any = Patch(facecolor=look.colour, hatch=3 * look.hatch, edgecolor="white")
        elif plot.is_per_scenario:
            handle = Line2D([], [], color=look.colour, ls=look.line)
        else:
            line = "none" if plot.spec.kind == "box" else look.line
            handle = Line2D([], [], color=look.colour, marker=look.marker, ls=line)
        handle.set_label(visible_label(label))
        handles.append(handle)
    for label, (first, *_) in by_label(plot).items():
        handles.append(Line2D([], [], label=visible_label(printable(label)), **star(first)))
    return handles
