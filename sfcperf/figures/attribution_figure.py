"""The attribution as a figure for a paper: a stacked bar per scenario, and its numbers as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.figures.drawing import save, settings
from sfcperf.figures.page_styles import FORMATS, STYLES, PageStyle, inches
from sfcperf.figures.plot import scenario_text
from sfcperf.figures.text_width import legend_columns, printable, wrapped
from sfcperf.presentation import palette, units
from sfcperf.results.store import RunStore, replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Document = Mapping[str, Any]

_BAR_MM = 9.0
_AXIS_MM = 12.0
_LINE = 1.25
_GREY = "#8a8a8a"
_MOST_BARS = 40
_MOST_LETTERS = 28
_COLUMNS = ("trials", "mean_us", "ci_low_us", "ci_high_us", "samples", "median_us", "p99_us")


def write_attribution(
    run: RunStore,
    folder: Path,
    formats: Sequence[str] = FORMATS,
    *,
    style: PageStyle = STYLES["paper"],
    width_mm: float | None = None,
    with_note: bool = True,
) -> list[Path]:
    """A figure for each probe and direction, `attribution-PROBE`; none without attribution.json.
    Gives the files. Raises InputError when the run folder is damaged."""
    document = run.attribution()
    if document is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(document["paths"], key=_group_of)
    files = []
    for (label, way), found in groupby(paths, key=_group_of):
        members = list(found)
        target = folder / file_name(label, way)
        words = note(document) if with_note else ""
        with settings(style):
            figure = _figure(members, words, style, width_mm or style.column_mm)
            files += save(figure, target, formats, style)
        replace_file(table := target.with_name(f"{target.name}.csv"), attribution_csv(members))
        files.append(table)
    return files


def file_name(label: str, way: str) -> str:
    """Of the figure of a probe and direction, without ending."""
    stem = label if way == "forward" else f"{label}-{way}"
    return f"attribution-{re.sub(r'[^A-Za-z0-9_.-]+', '-', stem)}"


def note(document: Document) -> str:
    """What bars and whiskers are."""
    return (
        f"Means of trials, {100 * document['confidence']:g} % CI ({document['method']}). Thick "
        "line: end to end; hatched grey: residual."
    )


def attribution_csv(members: Sequence[Document]) -> str:
    """A row per scenario and VNF, and for sum, end to end and residual; all times in us."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    factors = list(dict.fromkeys(name for member in members for name in member["scenario"]))
    writer.writerow([*factors, "what", "kind", *_COLUMNS])
    for member in members:
        levels = [member["scenario"].get(factor, "") for factor in factors]
        for what, kind, time in _parts(member):
            values = [(time or {}).get(column) for column in _COLUMNS]
            writer.writerow([*levels, what, kind, *("" if v is None else v for v in values)])
    return text.getvalue()


def _parts(member: Document) -> Iterator[tuple[str, str, Document | None]]:
    for function in member["functions"]:
        kind = function["type"] if function["seen"] else f"{function['type']} (not seen)"
        yield function["name"], kind, function["time"]
    for key in ("sum", "end_to_end", "residual"):
        yield key, "", member[key]


def _group_of(path: Document) -> tuple[str, str]:
    return path["label"], path["path"]


def _figure(members: Sequence[Document], words: str, style: PageStyle, width_mm: float) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shown = members[:_MOST_BARS]
    names = list(dict.fromkeys(f["name"] for m in shown for f in m["functions"] if f["time"]))
    width_pt = 72 * inches(width_mm)
    lines = wrapped(words, style.note_pt, 0.97 * width_pt) if words else []
    columns = legend_columns(names, style.font_pt - 1, 0.97 * width_pt)
    legend_rows = -(-len(names) // columns)
    height_pt = 72 * inches((_AXIS_MM + _BAR_MM * len(shown)) * style.scale)
    height_pt += _LINE * (len(lines) * style.note_pt + legend_rows * (style.font_pt - 1))
    layout = ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.02)
    figure = Figure(figsize=(width_pt / 72, height_pt / 72), layout=layout)
    axes = figure.add_subplot()
    _bars(axes, shown, names)
    figure.legend(loc="outside upper left", ncols=columns, borderaxespad=0.0, columnspacing=1.2)
    if lines:
        figure.supxlabel(
            "\n".join(lines), fontsize=style.note_pt, color="#444444", x=0.01, ha="left"
        )
    return figure


def _bars(axes: Axes, members: Sequence[Document], names: Sequence[str]) -> None:
    looks = {name: palette.style(index) for index, name in enumerate(names)}
    scale = units.scale_for([max(map(_extent, members))], "us")
    labelled: set[str] = set()
    for place, member in enumerate(members):
        at = 0.0
        for function in member["functions"]:
            name, time = function["name"], function["time"]
            if time is None:
                continue
            label = "" if name in labelled else printable(name)
            labelled.add(name)
            mean = time["mean_us"] * scale.factor
            look = looks[name]
            axes.barh(
                place, mean, 0.6, at, color=look.colour, hatch=3 * look.hatch, edgecolor="white",
                linewidth=0.4, label=f" {label}" if label.startswith("_") else label or None,
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
    if time["ci_low_us"] is not None:
        half = (time["ci_high_us"] - time["ci_low_us"]) / 2 * factor
        axes.errorbar(at, place, xerr=half, color="black", elinewidth=0.7, capsize=2)


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
    times = [f["time"]["mean_us"] for f in member["functions"] if f["time"]]
    end = member["end_to_end"]
    return float(max(sum(times), 0.0 if end is None else end["mean_us"]))


def _scenario(member: Document) -> str:
    text = printable(scenario_text(member["scenario"]) or "")
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
