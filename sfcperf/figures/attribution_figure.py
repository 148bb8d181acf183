"""The attribution as a figure for a paper: a stacked bar per scenario, and its numbers as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.figures.frame import framed, save, settings, visible_label
from sfcperf.figures.layout import PAPER, FigureLayout
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_text
from sfcperf.presentation.wording import printable, shortened
from sfcperf.results.columns import csv_text, factor_names
from sfcperf.results.files import replace_file
from sfcperf.results.store import RunFile, RunStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Document = Mapping[str, Any]

_BAR_MM = 9.0
_AXIS_MM = 12.0
_GREY = "#8a8a8a"
_MOST_BARS = 40
_MOST_LETTERS = 28
_COLUMNS = ("trials", "mean_us", "ci_low_us", "ci_high_us", "samples", "median_us", "p99_us")


def write_attribution(run: RunStore, folder: Path, layout: FigureLayout = PAPER) -> list[Path]:
    """A figure for each probe and direction, `attribution-PROBE`; none without attribution.json.
    Gives the files. Raises InputError when the run folder is damaged."""
    document = run.document(RunFile.ATTRIBUTION)
    if document is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for label, direction, scenarios in attribution_groups(document):
        target = folder / attribution_file_name(label, direction)
        with settings(layout):
            files += save(_figure(scenarios, _note(document), layout), target, layout)
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
    return [*functions, *((part["name"], part["time"]) for part in member.get("parts", ()))]


def attribution_file_name(label: str, direction: str) -> str:
    """Of the figure of a probe and direction, without ending."""
    stem = label if direction == "forward" else f"{label}-{direction}"
    return f"attribution-{re.sub(r'[^A-Za-z0-9_.-]+', '-', stem)}"


def _note(document: Document) -> str:
    """What bars and whiskers are."""
    return (
        f"Means of trials, {100 * document['confidence']:g} % CI ({document['method']}). Thick "
        "line: end to end; hatched grey: residual."
    )


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
    for part in member.get("parts", ()):
        yield part["name"], "", part["time"]
    for key in ("sum", "end_to_end", "residual"):
        yield key, "", member[key]


def _figure(members: Sequence[Document], note: str, layout: FigureLayout) -> Figure:
    shown = members[:_MOST_BARS]
    names = list(dict.fromkeys(name for m in shown for name, _ in timed_parts(m)))
    axes_mm = (_AXIS_MM + _BAR_MM * len(shown)) * layout.style.scale
    figure, axes, columns = framed(layout, axes_mm, note, names)
    _bars(axes, shown, names)
    figure.legend(loc="outside upper left", ncols=columns, borderaxespad=0.0, columnspacing=1.2)
    return figure


def _bars(axes: Axes, members: Sequence[Document], names: Sequence[str]) -> None:
    looks = {name: palette.style(index) for index, name in enumerate(names)}
    scale = units.scale_for([max(map(_extent, members))], "us")
    labelled: set[str] = set()
    for place, member in enumerate(members):
        at = 0.0
        for name, time in timed_parts(member):
            label = None if name in labelled else visible_label(printable(name))
            labelled.add(name)
            mean = time["mean_us"] * scale.factor
            look = looks[name]
            axes.barh(
                place, mean, 0.6, at, color=look.colour, hatch=3 * look.hatch, edgecolor="white",
                linewidth=0.4, label=label,
            )  # fmt: skip
            at += mean
            _whisker(axes, time, at, place, scale.factor)
        _end(axes, member, at, place, scale.factor)
    axes.set_yticks(range(len(members)), [_scenario(member) for member in members])
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(f"Packet processing time [{scale.unit}]")


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
        over = value < at
        axes.barh(
            place, value - at, 0.6, at, facecolor="none", hatch="" if over else "////",
            edgecolor="#a5191f" if over else _GREY, linestyle="--" if over else "-", linewidth=0.8,
        )  # fmt: skip
    axes.plot([value, value], [place - 0.38, place + 0.38], color="black", linewidth=2)


def _extent(member: Document) -> float:
    times = [time["mean_us"] for _, time in timed_parts(member)]
    end = member["end_to_end"]
    return float(max(sum(times), 0.0 if end is None else end["mean_us"]))


def _scenario(member: Document) -> str:
    return shortened(printable(scenario_text(member["scenario"])), _MOST_LETTERS)
