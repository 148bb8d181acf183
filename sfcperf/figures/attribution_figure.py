"""The attribution as a figure for a paper: a stacked bar per scenario, and its numbers as CSV."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.figures.attribution_bars import (
    TIME_LABEL,
    Bar,
    BarGroup,
    Document,
    Part,
    bar_groups,
)
from sfcperf.figures.frame import framed, save, settings, visible_label
from sfcperf.figures.layout import PAPER, FigureLayout
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_text
from sfcperf.presentation.wording import printable, shortened
from sfcperf.results.files import replace_file
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import csv_text, factor_names

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR_MM = 9.0
"""Height that a figure has for each bar."""
_AXIS_MM = 12.0
"""Height that a figure has for the axis of times."""
_GREY, _RED = "#6b6b6b", "#a5191f"
_RESIDUALS: Mapping[str, dict[str, Any]] = {
    "residual": {"facecolor": "none", "edgecolor": _GREY, "hatch": "////", "linewidth": 0.8},
    "over": {"facecolor": "none", "edgecolor": _RED, "linestyle": "--", "linewidth": 0.8},
}
"""Kind of a residual -> how matplotlib draws it."""
_MOST_LETTERS = 28
"""Most letters of a scenario's name at the axis."""
_COLUMNS = ("trials", "mean_us", "ci_low_us", "ci_high_us", "samples", "median_us", "p99_us")


def attribution_names(run: RunStore) -> list[str]:
    """List the names of the figures that `write_attribution` makes. Raises InputError if the run
    folder is damaged."""
    document = run.document(RunFile.ATTRIBUTION)
    return [] if document is None else [group.file_name for group in bar_groups(document)]


def write_attribution(
    run: RunStore,
    folder: Path,
    layout: FigureLayout = PAPER,
    only: Collection[str] | None = None,
) -> list[Path]:
    """Write a figure `attribution-PROBE` for each probe and direction, with a CSV table, and return
    the files. `only`: names of the figures to write, None: all. Nothing is written without
    attribution.json. Raises InputError if the run folder is damaged."""
    document = run.document(RunFile.ATTRIBUTION)
    if document is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for group in bar_groups(document):
        if only is not None and group.file_name not in only:
            continue
        target = folder / group.file_name
        with settings(layout):
            files += save(_figure(group, _note(document, group), layout), target, layout)
        table = target.with_name(f"{target.name}.csv")
        replace_file(table, _csv([bar.path for bar in group.bars]))
        files.append(table)
    return files


def _note(document: Document, group: BarGroup) -> str:
    """Return the note of a figure, which says what bars and whiskers are."""
    if not any(part.interval_us for bar in group.bars for part in bar.parts):
        return "Means of trials, without intervals (the report says why)."
    return f"Means of trials, {100 * document['confidence']:g} % CI ({document['method']})."


def _csv(paths: Sequence[Document]) -> str:
    """Return the CSV table: for each scenario a row per VNF and other part, and one each for sum,
    end-to-end time and residual. All times are in us."""
    factors = factor_names(path["scenario"] for path in paths)
    rows: list[list[object]] = [[*factors, "what", "kind", *_COLUMNS]]
    for path in paths:
        levels = [path["scenario"].get(factor, "") for factor in factors]
        for what, kind, time in _entries(path):
            rows.append([*levels, what, kind, *((time or {}).get(name) for name in _COLUMNS)])
    return csv_text(rows)


def _entries(path: Document) -> Iterator[tuple[str, str, Document | None]]:
    """Yield name, kind and time (None if it is not known) for each row about a scenario. The kind
    of a VNF is its type; other rows have none."""
    for function in path["functions"]:
        kind = function["type"] if function["seen"] else f"{function['type']} (not seen)"
        yield function["name"], kind, function["time"]
    for part in path["parts"]:
        yield part["name"], "", part["time"]
    for key in ("sum", "end_to_end", "residual"):
        yield key, "", path[key]


def _figure(group: BarGroup, note: str, layout: FigureLayout) -> Figure:
    """Make the figure of a group, as high as its bars need. Call it within `settings`."""
    axes_mm = (_AXIS_MM + _BAR_MM * len(group.drawn)) * layout.style.scale
    handles = list(_handles(group))
    labels = [str(handle.get_label()) for handle in handles]
    figure, axes, columns = framed(layout, axes_mm, note, labels)
    _bars(axes, group)
    figure.legend(
        handles=handles, loc="outside upper left", ncols=columns, borderaxespad=0.0,
        columnspacing=1.2,
    )  # fmt: skip
    return figure


def _handles(group: BarGroup) -> Iterator[Artist]:
    """Yield the entries of the legend: parts, then residuals and the end-to-end mark if drawn."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    for name, style in group.legend():
        yield Patch(**_look(style), label=visible_label(printable(name)))
    for kind, label in (("residual", "residual"), ("over", "residual below 0")):
        if group.has(kind):
            yield Patch(**_RESIDUALS[kind], label=label)
    if any(bar.end for bar in group.drawn):
        yield Line2D([], [], color="black", linewidth=2, label="end to end")


def _look(style: palette.Style) -> dict[str, Any]:
    """Return how matplotlib draws a part with this style."""
    return {
        "facecolor": style.colour, "hatch": 3 * style.hatch, "edgecolor": "white", "linewidth": 0.4,
    }  # fmt: skip


def _bars(axes: Axes, group: BarGroup) -> None:
    """Draw the bars of a group from top to bottom, and label the axes."""
    scale = group.scale
    for place, bar in enumerate(group.drawn):
        for part in bar.parts:
            look = _RESIDUALS.get(part.kind) or _look(group.styles[part.name])
            start, end = part.start_us * scale.factor, part.end_us * scale.factor
            axes.barh(place, end - start, 0.6, start, **look)
            _whisker(axes, part, place, scale.factor)
        if bar.end is not None:
            value = bar.end.value_us * scale.factor
            axes.plot([value, value], [place - 0.38, place + 0.38], color="black", linewidth=2)
    axes.set_yticks(range(len(group.drawn)), [_scenario(bar) for bar in group.drawn])
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(units.axis_label(TIME_LABEL, scale.unit))


def _whisker(axes: Axes, part: Part, place: float, factor: float) -> None:
    """Draw the interval of a part at its right end; nothing without an interval."""
    if part.interval_us is not None:
        low, high = (end * factor for end in part.interval_us)
        at = part.end_us * factor
        axes.errorbar(
            at, place, xerr=[[at - low], [high - at]], color="black", elinewidth=0.7, capsize=2
        )


def _scenario(bar: Bar) -> str:
    """Return the name of a bar's scenario, cut to the room at the axis."""
    return shortened(printable(scenario_text(bar.path["scenario"])), _MOST_LETTERS)
