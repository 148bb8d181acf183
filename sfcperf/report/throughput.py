"""The report's section on searches for the throughput: loss and latency against load, bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.figures.throughput_figure import throughput_files
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_name
from sfcperf.presentation.pages import Chart, trial_anchor
from sfcperf.presentation.searches import (
    LATENCY_LABEL,
    LOSS_LABEL,
    PERCENTILES,
    SearchGroup,
    load_label,
    packets_unit,
    search_groups,
    typical_lower_pps,
)
from sfcperf.results.records import TrialRecord
from sfcperf.results.searches import GoalResult, OfferedLoad
from sfcperf.results.store import RunStore

_MOST_POINTS = 2000
_LIMITS = {
    "chain": "losses in the chain",
    "endpoints": "the endpoints",
    "max_load": "max_load_pps",
    "": "–",
}


@dataclass(frozen=True)
class GoalRow:
    """What the search of one trial found for one goal; rates are texts in the unit of the group."""

    trial: str
    goal: str
    throughput: str
    lower: str
    upper: str
    limit: str
    irregular: str


@dataclass(frozen=True)
class Group:
    """Charts and table of the searches of one scenario and probe."""

    title: str
    charts: tuple[Chart, ...]
    unit: str
    rows: tuple[GoalRow, ...]


@dataclass(frozen=True)
class ThroughputSection:
    """The report's section on searches for the throughput."""

    groups: tuple[Group, ...]
    unreadable: tuple[tuple[str, str], ...]
    """(Trial, what is wrong with the file of its search)."""
    files: tuple[str, ...]
    """Figures for papers and their tables, in the run folder."""

    @property
    def charts(self) -> list[Chart]:
        """All charts of the section."""
        return [chart for group in self.groups for chart in group.charts]


def throughput_section(store: RunStore, trials: Sequence[TrialRecord]) -> ThroughputSection | None:
    """Return the section; None for a run in which no throughput was searched."""
    groups, unreadable = search_groups(store, trials)
    if not groups and not unreadable:
        return None
    shown = tuple(_group(index, group) for index, group in enumerate(groups))
    files = [
        file
        for label in dict.fromkeys(group.label for group in groups)
        for file in throughput_files(store, label)
    ]
    return ThroughputSection(shown, tuple(unreadable), tuple(files))


def _group(index: int, group: SearchGroup) -> Group:
    """Make charts and table of the searches of one scenario and probe. `index` makes the ids of the
    charts unique."""
    scale = units.scale_for(group.bounds or [group.highest_pps], "1/s")
    loss = _loss_chart(f"throughput-loss-{index}", group, scale)
    latency = _latency_chart(f"throughput-latency-{index}", group, scale)
    title = scenario_name(group.scenario)
    return Group(
        f"{group.label}: {title}" if title else group.label,
        tuple(chart for chart in (loss, latency) if chart is not None),
        packets_unit(scale),
        tuple(_row(record, goal, scale) for record, search in group.found for goal in search.goals),
    )


def _loss_chart(identity: str, group: SearchGroup, scale: units.Scale) -> Chart | None:
    """Draw loss against load for the loads near the bounds; None if there are none."""
    all_near = group.loads_near()
    near = all_near[:_MOST_POINTS]
    if not near:
        return None
    counted = [(r, o) for r, o in near if not o.limited]
    limited = [(r, o) for r, o in near if o.limited]
    highest = max(100 * o.loss_ratio for _, o in near)
    series = [_points("loads", counted, scale, 0)] if counted else []
    if limited:
        series.append(_points("limited by the endpoints", limited, scale, 1))
    for style, (name, goals) in enumerate(group.goals(), 2):  # after the styles of the points
        series += _marks(name, goals, highest, scale, style)
    note = (
        f"A point per load that was offered; searches: {len(group.found)}, loads: {len(near)}. "
        "Vertical lines: medians of the lower bounds."
    )
    if any(load.withheld for _, load in near):
        note += " Packets that the chain kept the sender from sending count as lost."
    if further := len(group.loads("search")) - len(all_near):
        note += f" Not drawn, since further from the bounds: {further}."
    if behind := len(all_near) - len(near):
        note += f" Not drawn, since they came after these: {behind}."
    return Chart(identity, "Loss against load", note, _data(LOSS_LABEL, series, scale))


def _marks(
    name: str, goals: Sequence[GoalResult], highest: float, scale: units.Scale, style: int
) -> list[dict[str, Any]]:
    """Return a vertical line at the median of a goal's lower bounds, up to the highest loss ratio;
    none if that median is not known."""
    lower_pps = typical_lower_pps(goals)
    if lower_pps is None:
        return []
    x = lower_pps * scale.factor
    ratio = goals[0].loss_ratio
    title = f"{name.upper()} (loss ratio {100 * ratio:g} %)"
    return [_line(title, [x, x], [0.0, max(highest, 100 * ratio)], [None, None], style)]


def _latency_chart(identity: str, group: SearchGroup, scale: units.Scale) -> Chart | None:
    """Draw percentiles of the latency against load; None if no latency was measured."""
    offered = [(record, load) for record, load in group.loads("latency") if load.latency_us]
    if not offered:
        return None
    series = []
    for style, (percentile, name) in enumerate(PERCENTILES.items()):
        values = [(record, load, (load.latency_us or {})[percentile]) for record, load in offered]
        points = sorted(
            (o.rate_pps * scale.factor, v, trial_anchor(r.trial_id)) for r, o, v in values
        )
        x, y, anchors = (list(column) for column in zip(*points, strict=True))
        series.append(_line(name, x, y, anchors, style) | {"points": True})
    note = (
        f"One-way latency at shares of the NDR; searches: {len(group.found)}, loads: "
        f"{len(offered)}."
    )
    return Chart(
        identity, "Latency against load", note, _data(LATENCY_LABEL, series, scale) | {"log": True}
    )


def _points(
    name: str, offered: Sequence[tuple[TrialRecord, OfferedLoad]], scale: units.Scale, style: int
) -> dict[str, Any]:
    """Return a point for each load: its loss ratio in per cent."""
    x = [load.rate_pps * scale.factor for _, load in offered]
    y = [100 * load.loss_ratio for _, load in offered]
    anchors = [trial_anchor(record.trial_id) for record, _ in offered]
    return _line(name, x, y, anchors, style) | {"points": True}


def _line(
    name: str, x: Sequence[float], y: Sequence[float], anchors: Sequence[str | None], style: int
) -> dict[str, Any]:
    """Return a line of a chart. `anchors`: the trial that a click on each point goes to, or None;
    `style`: number of a palette style."""
    return {
        "name": name,
        "style": palette.style(style).plotly(),
        "x": [float(f"{value:.7g}") for value in x],
        "y": [float(f"{value:.5g}") for value in y],
        "anchors": list(anchors),
    }


def _data(y_label: str, series: Sequence[Mapping[str, Any]], scale: units.Scale) -> dict[str, Any]:
    """Return the data of a chart against load."""
    return {
        "kind": "time",  # page.js draws lines and points over a numeric axis
        "xLabel": load_label(scale),
        "xUnit": packets_unit(scale),
        "yLabel": y_label,
        "series": list(series),
    }


def _row(record: TrialRecord, goal: GoalResult, scale: units.Scale) -> GoalRow:
    """Make the row of a goal; rates that are not known become dashes."""

    def shown(rate: float | None) -> str:
        return "–" if rate is None else f"{rate * scale.factor:.5g}"

    return GoalRow(
        record.trial_id,
        f"{goal.name.upper()} ({100 * goal.loss_ratio:g} %)",
        shown(goal.throughput_pps),
        shown(goal.lower_pps),
        shown(goal.upper_pps),
        _LIMITS[goal.upper_limit],
        goal.irregular,
    )
