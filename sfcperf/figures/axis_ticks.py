"""Ticks of the x axis: every level where there is room, turned or thinned where there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfcperf.figures.marks import is_grouped
from sfcperf.figures.plot import Plot
from sfcperf.figures.text_width import printable, width_pt
from sfcperf.presentation.levels import level_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AXES_SHARE = 0.82
"""Of the figure's width, roughly: the rest is the y axis."""
_GAP_EM = 0.8
_LONGEST = 28


def set_ticks(axes: Axes, plot: Plot, figure_pt: float, size_pt: float) -> None:
    """Ticks at the levels of the x axis, without overlaps, and the axis' limits."""
    if plot.spec.kind == "ecdf" or not plot.levels:
        return
    grouped = is_grouped(plot)
    places = [float(plot.place(v)) if grouped else plot.position(v) for v in plot.levels]
    labels = [_short(printable(level_text(level))) for level in plot.levels]
    categories = grouped or not plot.numeric
    margin = 0.5 if categories else 0.05 * max(places[-1] - places[0], 1)
    low, high = min(places) - margin, max(places) + margin
    axes.set_xlim(low, high)
    per_unit = _AXES_SHARE * figure_pt / (high - low)
    widths = [width_pt(label, size_pt) + _GAP_EM * size_pt for label in labels]
    if _fit(places, widths, per_unit) == list(range(len(places))):
        axes.set_xticks(places, labels)
        return
    if not categories:
        kept = _fit(places, widths, per_unit)
        axes.set_xticks([places[i] for i in kept], [labels[i] for i in kept])
        return
    # Turned by 35 degrees, lines of text need about 1.6 times their height beside each other.
    kept = _fit(places, [1.7 * size_pt] * len(places), per_unit)
    axes.set_xticks([places[i] for i in kept], [labels[i] for i in kept])
    for label in axes.get_xticklabels():
        label.set(rotation=35, ha="right", rotation_mode="anchor")


def _fit(places: list[float], widths: list[float], per_unit: float) -> list[int]:
    """Indices of the labels that fit beside each other, from the left."""
    kept: list[int] = []
    for index, place in enumerate(places):
        if kept:
            room = (place - places[kept[-1]]) * per_unit
            if room < (widths[index] + widths[kept[-1]]) / 2:
                continue
        kept.append(index)
    return kept


def _short(label: str) -> str:
    """Long names differ at their ends as often as at their beginnings."""
    half = _LONGEST // 2
    return label if len(label) <= _LONGEST else f"{label[:half]}…{label[-half + 1 :]}"
