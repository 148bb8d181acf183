"""The attribution as a figure for a paper: a stacked bar per scenario, and its numbers as CSV."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

Document = Mapping[str, Any]

_BAR_MM = 9.0
_AXIS_MM = 12.0
_GREY, _RED = "#6b6b6b", "#a5191f"
TIME_LABEL = "Packet processing time"
"""Of the axis, here and in the report."""
_RESIDUAL: dict[str, Any] = {
    "facecolor": "none", "edgecolor": _GREY, "hatch": "////", "linewidth": 0.8,
}  # fmt: skip
_OVER: dict[str, Any] = {
    "facecolor": "none", "edgecolor": _RED, "linestyle": "--", "linewidth": 0.8,
}  # fmt: skip
_MOST_BARS = 40
_MOST_LETTERS = 28
_COLUMNS = ("trials", "mean_us", "ci_low_us", "ci_high_us", "samples", "median_us", "p99_us")


def attribution_names(run: RunStore) -> list[str]:
    """Of the figures that `write_attribution` makes. Raises InputError."""
    document = run.document(RunFile.ATTRIBUTION)
    groups = () if document is None else attribution_groups(document)
    return [attribution_file_name(label, direction) for label, direction, _ in groups]


def write_attribution(
    run: RunStore,
    folder: Path,
    layout: FigureLayout = PAPER,
    only: Collection[str] | None = None,
) -> list[Path]:
    """A figure for each probe and direction, `attribution-PROBE`, or those of the names in `only`;
    none without attribution.json. Gives the files. Raises InputError when the run folder is
    damaged."""
    document = run.document(RunFile.ATTRIBUTION)
    if document is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for label, direction, scenarios in attribution_groups(document):
        target = folder / attribution_file_name(label, direction)
        if only is not None and target.name not in only:
            continue
        with settings(layout):
            files += save(_figure(scenarios, _note(document, scenarios), layout), target, layout)
        replace_file(table := target.with_name(f"{target.name}.csv"), _csv(scenarios))
        files.append(table)
    return files


def attribution_groups(document: Document) -> Iterator[tuple[str, str, list[Document]]]:
    """(Probe, direction, its scenarios), sorted."""

    def key(path: Document) -> tuple[str, str]:
        return path["label"], path["path"]

    for (label, direction), scenarios in groupby(sorted(document["paths"], key=key), key):
        yield label, direction, list(scenarios)


def timed_parts(member: Document) -> list[tuple[str, Document]]:
    """(Name, time) of the VNFs whose time is known, and then of the other parts; those of a path
    add up to its end-to-end time less the residual."""
    functions = [(f["name"], f["time"]) for f in member["functions"] if f["time"] is not None]
    return [*functions, *((part["name"], part["time"]) for part in member["parts"])]


def attribution_file_name(label: str, direction: str) -> str:
    """Of the figure of a probe and direction, without ending."""
    stem = label if direction == "forward" else f"{label}-{direction}"
    return f"attribution-{re.sub(r'[^A-Za-z0-9_.-]+', '-', stem)}"


def _note(document: Document, members: Sequence[Document]) -> str:
    """What bars and whiskers are."""
    times = (time for member in members for _, time in timed_parts(member))
    if all(time["ci_low_us"] is None for time in times):
        return "Means of trials, without intervals (the report says why)."
    return f"Means of trials, {100 * document['confidence']:g} % CI ({document['method']})."


def _csv(members: Sequence[Document]) -> str:
    """A row per scenario and VNF or other part, and for sum, end to end and residual; all times in
    us."""
    factors = factor_names(member["scenario"] for member in members)
    rows: list[list[object]] = [[*factors, "what", "kind", *_COLUMNS]]
    for member in members:
        levels = [member["scenario"].get(factor, "") for factor in factors]
        for what, kind, time in _parts(member):
            rows.append([*levels, what, kind, *((time or {}).get(name) for name in _COLUMNS)])
    return csv_text(rows)


def _parts(member: Document) -> Iterator[tuple[str, str, Document | None]]:
    for function in member["functions"]:
        kind = function["type"] if function["seen"] else f"{function['type']} (not seen)"
        yield function["name"], kind, function["time"]
    for part in member["parts"]:
        yield part["name"], "", part["time"]
    for key in ("sum", "end_to_end", "residual"):
        yield key, "", member[key]


def _figure(members: Sequence[Document], note: str, layout: FigureLayout) -> Figure:
    shown = members[:_MOST_BARS]
    names = list(dict.fromkeys(name for m in shown for name, _ in timed_parts(m)))
    axes_mm = (_AXIS_MM + _BAR_MM * len(shown)) * layout.style.scale
    handles = [*_part_handles(names), *_rest_handles(shown)]
    labels = [str(handle.get_label()) for handle in handles]
    figure, axes, columns = framed(layout, axes_mm, note, labels)
    _bars(axes, shown, names)
    figure.legend(
        handles=handles, loc="outside upper left", ncols=columns, borderaxespad=0.0,
        columnspacing=1.2,
    )  # fmt: skip
    return figure


def _part_handles(names: Sequence[str]) -> Iterator[Artist]:
    """For the legend: VNFs and other parts."""
    from matplotlib.patches import Patch

    for index, name in enumerate(names):
        look, label = palette.style(index), visible_label(printable(name))
        yield Patch(
            facecolor=look.colour, hatch=3 * look.hatch, edgecolor="white", linewidth=0.4,
            label=label,
        )  # fmt: skip


def _rest_handles(members: Sequence[Document]) -> Iterator[Artist]:
    """For the legend: what lies beside the parts, as far as it is drawn."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    residuals = [member["residual"]["mean_us"] for member in members if member["residual"]]
    if any(mean_us >= 0 for mean_us in residuals):
        yield Patch(**_RESIDUAL, label="residual")
    if any(mean_us < 0 for mean_us in residuals):
        yield Patch(**_OVER, label="residual below 0")
    if any(member["end_to_end"] for member in members):
        yield Line2D([], [], color="black", linewidth=2, label="end to end")


def _bars(axes: Axes, members: Sequence[Document], names: Sequence[str]) -> None:
    looks = {name: palette.style(index) for index, name in enumerate(names)}
    scale = units.scale_for([max(map(_extent, members))], "us")
    for place, member in enumerate(members):
        at = 0.0
        for name, time in timed_parts(member):
            mean = time["mean_us"] * scale.factor
            look = looks[name]
            axes.barh(
                place, mean, 0.6, at, color=look.colour, hatch=3 * look.hatch, edgecolor="white",
                linewidth=0.4,
            )  # fmt: skip
            at += mean
            _whisker(axes, time, at, place, scale.factor)
        _end(axes, member, at, place, scale.factor)
    axes.set_yticks(range(len(members)), [_scenario(member) for member in members])
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(units.axis_label(TIME_LABEL, scale.unit))


def _whisker(axes: Axes, time: Document, at: float, place: float, factor: float) -> None:
    half = units.half_width(time["ci_low_us"], time["ci_high_us"])
    if half is not None:
        axes.errorbar(at, place, xerr=half * factor, color="black", elinewidth=0.7, capsize=2)


def _end(axes: Axes, member: Document, at: float, place: float, factor: float) -> None:
    """End to end, and what lies between it and the VNFs' sum."""
    end = member["end_to_end"]
    if end is None:
        return
    value = end["mean_us"] * factor
    if member["residual"] is not None:
        axes.barh(place, value - at, 0.6, at, **(_OVER if value < at else _RESIDUAL))
    axes.plot([value, value], [place - 0.38, place + 0.38], color="black", linewidth=2)


def _extent(member: Document) -> float:
    times = [time["mean_us"] for _, time in timed_parts(member)]
    end = member["end_to_end"]
    return float(max(sum(times), 0.0 if end is None else end["mean_us"]))


def _scenario(member: Document) -> str:
    return shortened(printable(scenario_text(member["scenario"])), _MOST_LETTERS)
