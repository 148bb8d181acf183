"""Searches for the throughput as figures for a paper: loss and latency against load, and every load
as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from sfcperf.counts import count_text
from sfcperf.figures.frame import framed, save, settings, visible_label
from sfcperf.figures.layout import FORMATS, PAPER, FigureLayout
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import level_text, varying
from sfcperf.presentation.searches import (
    LATENCY_LABEL,
    LOSS_LABEL,
    SearchGroup,
    load_label,
    search_groups,
    typical_lower_pps,
)
from sfcperf.presentation.wording import printable, shortened
from sfcperf.results.files import replace_file
from sfcperf.results.store import RunStore
from sfcperf.results.tables import csv_text, factor_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_SERIES = 8
"""Most lines in a figure; more cannot be told apart."""
_MOST_LETTERS = 28
"""Most letters of a scenario's name in the legend."""
_LINEAR_UP_TO = 0.1
"""Percent up to which the logarithmic axis of the loss is linear, since 0 has no logarithm."""
_LOAD_COLUMNS = (
    "rate_pps", "duration_s", "purpose", "sent", "received", "withheld", "loss_ratio", "limited",
)  # fmt: skip
"""Columns of the table with attributes of a load."""
_LATENCIES = ("p50", "p99", "p999")
"""Percentiles of the latency that have a column each."""

_Draw = Callable[["Axes", Sequence[SearchGroup], units.Scale], None]
"""Draws searches of several scenarios; loads are shown on the scale."""


def throughput_names(run: RunStore) -> list[str]:
    """List the names of the figures that `write_throughput` makes. Raises InputError if the run
    folder is damaged."""
    groups, _ = search_groups(run, run.trials())
    return [
        f"{_stem(label)}-{name}"
        for label, members in _by_label(groups)
        for name, _, _ in _kinds(members)
    ]


def write_throughput(
    run: RunStore,
    folder: Path,
    layout: FigureLayout = PAPER,
    only: Collection[str] | None = None,
) -> list[Path]:
    """Write the figures of each search probe over all scenarios, `throughput-PROBE-loss` and, where
    latency was measured, `throughput-PROBE-latency`, and the table `throughput-PROBE.csv` of all
    loads. `only`: names of the figures to write, None: all. Returns the files; none for a run
    without searches."""
    groups, _ = search_groups(run, run.trials())
    files = []
    for label, members in _by_label(groups):
        stem = folder / _stem(label)
        chosen = [
            (stem.with_name(f"{stem.name}-{name}"), draw, note)
            for name, draw, note in _kinds(members)
            if only is None or f"{stem.name}-{name}" in only
        ]
        if not chosen:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for target, draw, note in chosen:
            files += _write(members[:_MOST_SERIES], draw, note + _left_out(members), target, layout)
        replace_file(table := stem.with_name(f"{stem.name}.csv"), _csv(members))
        files.append(table)
    return files


def throughput_files(run: RunStore, label: str) -> tuple[str, ...]:
    """List the figures and the table of a probe's searches that exist in the run folder, relative
    to it."""
    stem = _stem(label)
    names = [f"{stem}-{kind}.{ending}" for kind in ("loss", "latency") for ending in FORMATS]
    return tuple(
        f"figures/{name}" for name in (*names, f"{stem}.csv") if (run.figures / name).is_file()
    )


def _stem(label: str) -> str:
    """Return how the file names of a probe's figures and table begin."""
    return f"throughput-{re.sub(r'[^A-Za-z0-9_.-]+', '-', label)}"


def _by_label(groups: Sequence[SearchGroup]) -> Iterator[tuple[str, list[SearchGroup]]]:
    """Yield each probe's label with its searches, in the order of labels."""

    def key(group: SearchGroup) -> str:
        return group.label

    for label, members in groupby(sorted(groups, key=key), key):
        yield label, list(members)


def _kinds(members: Sequence[SearchGroup]) -> Iterator[tuple[str, _Draw, str]]:
    """Yield for each figure of a probe the end of its name, the function that draws it, and its
    note."""
    note = (
        "A point per load; open: the endpoints were the limit. Lines: medians of the lower bounds, "
        "NDR solid, PDR dashed."
    )
    yield "loss", _loss, note
    if any(load.latency_us for group in members for _, load in group.loads("latency")):
        note = (
            "One-way latency at shares of the NDR, medians of the searches. Solid: median of the "
            "packets; dashed: 99th percentile."
        )
        yield "latency", _latency, note


def _left_out(members: Sequence[SearchGroup]) -> str:
    """Say how many scenarios a figure has no room for; empty if it has room for all."""
    more = len(members) - _MOST_SERIES
    return f" Not drawn: {count_text(more, 'more scenario')}." if more > 0 else ""


def _write(
    members: Sequence[SearchGroup], draw: _Draw, note: str, target: Path, layout: FigureLayout
) -> list[Path]:
    """Draw one figure of a probe's searches, and write its files."""
    rates = [rate for group in members for rate in group.bounds or [group.highest_pps]]
    scale = units.scale_for(rates, "1/s")
    names = [name for name in _names(members) if name]
    with settings(layout):
        figure, axes, columns = framed(layout, layout.style.axes_mm, note, names)
        draw(axes, members, scale)
        axes.set_xlabel(load_label(scale))
        if names:
            figure.legend(
                loc="outside upper left", ncols=columns, borderaxespad=0.0, columnspacing=1.2
            )
        return save(figure, target, layout)


def _names(members: Sequence[SearchGroup]) -> list[str]:
    """Return the name of each scenario in the legend: the levels that tell it from the others;
    empty for the only one."""
    factors = varying([group.scenario for group in members])

    def name(group: SearchGroup) -> str:
        parts = [
            f"{factor.replace('_', ' ')} {level_text(group.scenario[factor])}"
            for factor in factors
            if factor in group.scenario
        ]
        return shortened(printable(", ".join(parts)), _MOST_LETTERS)

    return [visible_label(text) if (text := name(group)) else "" for group in members]


def _loss(axes: Axes, members: Sequence[SearchGroup], scale: units.Scale) -> None:
    """Draw the loss ratio of each load near the bounds, hollow where the endpoints were the limit,
    and a vertical line at the median lower bound of each goal."""
    for index, (group, name) in enumerate(zip(members, _names(members), strict=True)):
        look = palette.style(index)
        near = [load for _, load in group.loads_near()]
        for limited, face in ((False, look.colour), (True, "white")):
            loads = [load for load in near if bool(load.limited) == limited]
            axes.plot(
                [load.rate_pps * scale.factor for load in loads],
                [100 * load.loss_ratio for load in loads],
                look.marker, color=look.colour, markerfacecolor=face, markersize=3,
                label=None if limited or not name else name, zorder=3,
            )  # fmt: skip
        for goal, goals in group.goals():
            lower_pps = typical_lower_pps([goal for goal in goals if not goal.irregular])
            if lower_pps is not None:
                line = "-" if goal == "ndr" else "--"
                axes.axvline(lower_pps * scale.factor, color=look.colour, linestyle=line, lw=0.7)
    axes.set_yscale("symlog", linthresh=_LINEAR_UP_TO)
    axes.yaxis.set_major_formatter("{x:g}")
    # The axis begins below zero, so that points at zero are not cut.
    highest = max((100 * load.loss_ratio for g in members for _, load in g.loads_near()), default=0)
    axes.set_ylim(-_LINEAR_UP_TO / 10, max(2 * highest, 10 * _LINEAR_UP_TO))
    axes.set_ylabel(LOSS_LABEL)


def _latency(axes: Axes, members: Sequence[SearchGroup], scale: units.Scale) -> None:
    """Draw median and 99th percentile of the latency against load, medians over the searches."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for index, (group, name) in enumerate(zip(members, _names(members), strict=True)):
        look = palette.style(index)
        for percentile, line, face in (("p50", "-", look.colour), ("p99", "--", "white")):
            points = [
                (median(x) * scale.factor, median(y)) for x, y in _latencies(group, percentile)
            ]
            axes.plot(
                [x for x, _ in points], [y for _, y in points], line, marker=look.marker,
                color=look.colour, markerfacecolor=face,
                label=name if name and percentile == "p50" else None,
            )  # fmt: skip
    axes.set_yscale("log")
    # Ticks at 1, 2 and 5 give an axis of less than a decade numbers too.
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(left=0)
    axes.set_ylabel(LATENCY_LABEL)


def _latencies(group: SearchGroup, percentile: str) -> Iterator[tuple[list[float], list[float]]]:
    """Yield for each share of the NDR the loads (packets per second) and latencies (us) of all
    searches that measured it."""
    searches = [
        [load for load in search.offered if load.purpose == "latency"] for _, search in group.found
    ]
    # Each search offers the same shares, in the same order.
    for place in range(max(map(len, searches), default=0)):
        offered = [loads[place] for loads in searches if place < len(loads)]
        known = [
            (load.rate_pps, load.latency_us[percentile]) for load in offered if load.latency_us
        ]
        if known:
            yield [rate for rate, _ in known], [latency for _, latency in known]


def _csv(members: Sequence[SearchGroup]) -> str:
    """Return the CSV table with a row per load of each search."""
    factors = factor_names(group.scenario for group in members)
    latencies = [f"latency_{name}_us" for name in _LATENCIES]
    rows: list[list[object]] = [[*factors, "trial_id", *_LOAD_COLUMNS, *latencies]]
    for group in members:
        levels = [group.scenario.get(factor, "") for factor in factors]
        for record, search in group.found:
            for load in search.offered:
                known = load.latency_us or {}
                cells = [getattr(load, name) for name in _LOAD_COLUMNS]
                seen = [known.get(name) for name in _LATENCIES]
                rows.append([*levels, record.trial_id, *cells, *seen])
    return csv_text(rows)
