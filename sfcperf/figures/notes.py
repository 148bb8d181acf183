"""What a figure says of itself: the meaning of its error bars, boxes and marks; its curves."""

from __future__ import annotations

from collections.abc import Collection

from sfcperf.figures.distribution import FEWEST_FOR_A_BOX
from sfcperf.figures.plot import Plot
from sfcperf.presentation.levels import level_text

_BOX = (
    "Boxes: quartiles and median of the trials, whiskers to the furthest within 1.5 interquartile "
    "ranges; marks: single trials"
)


def note(plot: Plot, fits: Collection[object], *, printed: bool = True) -> str:
    """The note under a figure, also its caption's; on the screen (not `printed`) distributions have
    no lines of single trials, and nothing is drawn where there is no number."""
    parts = [plot.interval_note]
    if plot.spec.kind == "box" and plot.summaries:
        enough = all(len(p.valid_trials) >= FEWEST_FOR_A_BOX for p in plot.points)
        parts.append(_BOX + ("." if enough else f" (no box for fewer than {FEWEST_FOR_A_BOX})."))
    if plot.spec.kind == "ecdf" and printed:
        parts.append("Thin lines: single trials.")
    medians = sum(row.centre == "median" for row in plot.summaries)
    if medians and plot.spec.kind in ("line", "bar") and plot.centre == "mean":
        parts.append(f"Trials are not normal at {_points(medians)}: the report has medians.")
    if fits:
        parts.append("Lines: least-squares fits to the trials.")
    if plot.untrusted:
        parts.append(f"{_untrusted(plot)} ({_points(plot.untrusted)}).")
    if plot.missing:
        mark = "No curve" if plot.spec.kind == "ecdf" else "×" if printed else "No mark"
        parts.append(f"{mark}: no valid trial ({_points(plot.missing)}).")
    return " ".join(parts)


def curve_names(plot: Plot) -> list[str]:
    """Names in the legend, one per series; of a distribution, one per scenario."""
    if plot.spec.kind != "ecdf":
        return [series.name for series in plot.series]
    return [
        ", ".join(
            part
            for part in (
                series.name,
                f"{plot.spec.x.replace('_', ' ')} {level_text(point.level)}" if plot.spec.x else "",
            )
            if part
        )
        for series in plot.series
        for point in series.points
    ]


def _untrusted(plot: Plot) -> str:
    if plot.spec.kind == "ecdf":
        return "Without untrusted and failed trials"
    mark = "Red ×" if plot.spec.kind == "box" else "Hollow"
    return f"{mark}: some trials untrusted or failed"


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"
