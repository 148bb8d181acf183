"""Figures as data: which point of which line stands where, drawn by matplotlib or by plotly.

Nothing is left out silently: a scenario of the workflow without a number is a `missing` point, one
with untrusted or failed trials an `untrusted` point, and both renderers mark them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf.results.records import Summary
from sfcperf.visualization import units
from sfcperf.workflow.model import FigureSpec

Levels = Mapping[str, Any]
PointState = Literal["trusted", "untrusted", "missing"]


@dataclass(frozen=True)
class Point:
    """A scenario in a figure."""

    level: Any
    """Level of the factor on the x axis."""
    scenario: Levels
    summary: Summary | None
    """None when the run has no row for this scenario."""

    @property
    def state(self) -> PointState:
        """Whether the number can be believed, and whether there is one."""
        if self.summary is None or self.summary.mean is None:
            return "missing"
        return "trusted" if self.summary.valid else "untrusted"


@dataclass(frozen=True)
class Series:
    """A line (or a colour of bars) of a figure."""

    name: str
    """Levels that tell it apart, e.g. `T1`; empty when it is the only one."""
    level: Any
    """Level of the figure's `series` factor; None when the figure names none."""
    points: tuple[Point, ...]
    """In the order of the x axis."""


@dataclass(frozen=True)
class Plot:
    """A figure resolved against the results of a run."""

    spec: FigureSpec
    series: tuple[Series, ...]
    levels: tuple[Any, ...]
    """Levels on the x axis, in order."""
    numeric: bool
    """Whether the levels are positions on a numeric axis."""

    def position(self, level: Any) -> float:
        """Where a level stands on the x axis."""
        return float(level) if self.numeric else float(self.place(level))

    def place(self, level: Any) -> int:
        """Index of a level among those on the x axis."""
        return [_level_key(known) for known in self.levels].index(_level_key(level))

    @property
    def summaries(self) -> list[Summary]:
        """Rows behind the points that have a number."""
        points = [point for series in self.series for point in series.points]
        return [p.summary for p in points if p.summary is not None and p.state != "missing"]

    @property
    def untrusted(self) -> int:
        """Points whose trials were not all valid."""
        return self._count("untrusted")

    @property
    def missing(self) -> int:
        """Scenarios without a number."""
        return self._count("missing")

    @property
    def interval_note(self) -> str:
        """What the error bars are, and over how many trials."""
        rows = self.summaries
        if not rows:
            return "No valid trial."
        counts = sorted({row.n for row in rows})
        trials = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
        if all(row.ci_low is None for row in rows):
            return f"No error bars: an interval needs two valid trials ({trials})."
        levels = " / ".join(f"{100 * level:g} %" for level in sorted({r.confidence for r in rows}))
        methods = ", ".join(sorted({row.method for row in rows if row.ci_low is not None}))
        return f"Error bars: {levels} confidence interval, {methods}, {trials} trials."

    def _count(self, state: PointState) -> int:
        return sum(point.state == state for series in self.series for point in series.points)


def resolve(spec: FigureSpec, summaries: Iterable[Summary], scenarios: Sequence[Levels]) -> Plot:
    """The points of a figure.

    `scenarios` are the level mappings of all scenarios that the workflow planned. Factors that
    neither axis nor series name become part of the series' name when they vary, so that two
    scenarios never share a point.
    """
    rows = {
        scenario_key(row.scenario): row
        for row in summaries
        if row.label == spec.probe and row.metric == spec.metric
    }
    axis = axis_levels(spec.x, scenarios)
    tellers = [name for name in _varying(scenarios) if name != spec.x]
    if spec.series is not None:
        tellers = [spec.series, *(name for name in tellers if name != spec.series)]
    groups: dict[str, dict[str, Point]] = {}
    levels: dict[str, Any] = {}
    for scenario in scenarios:
        name = ", ".join(_teller(factor, scenario, tellers) for factor in tellers)
        level = scenario.get(spec.x)
        point = Point(level, scenario, rows.get(scenario_key(scenario)))
        groups.setdefault(name, {})[_level_key(level)] = point
        levels.setdefault(name, scenario.get(spec.series) if spec.series is not None else None)
    series = tuple(
        Series(name, levels[name], tuple(p[k] for k in map(_level_key, axis) if k in p))
        for name, p in groups.items()
    )
    return Plot(spec, series, axis, all(is_number(level) for level in axis))


def automatic(summaries: Sequence[Summary], scenarios: Sequence[Levels]) -> list[FigureSpec]:
    """A figure for each metric of each probe: the first numeric factor that varies on the x axis
    (else the first that varies), the other factors as series."""
    varying = _varying(scenarios)
    numeric = [f for f in varying if all(is_number(v) for v in axis_levels(f, scenarios))]
    factors = list(dict.fromkeys(name for levels in scenarios for name in levels))
    x = next(iter([*numeric, *varying, *factors]), "")
    series = next((name for name in varying if name != x), None)
    kinds = {(row.label, row.metric): row for row in summaries}
    return [
        _automatic(row, [r for r in summaries if (r.label, r.metric) == key], x, series)
        for key, row in kinds.items()
    ]


def axis_levels(factor: str, scenarios: Sequence[Levels]) -> tuple[Any, ...]:
    """Levels of a factor, numbers in ascending order, others in the order of the workflow."""
    levels = {_level_key(levels.get(factor)): levels.get(factor) for levels in scenarios}
    values = list(levels.values())
    return tuple(sorted(values)) if all(is_number(v) for v in values) else tuple(values)


def level_text(level: Any) -> str:
    """A factor level as text: strings as they are, everything else as JSON."""
    return level if isinstance(level, str) else json.dumps(level, sort_keys=True)


def scenario_text(scenario: Levels) -> str:
    """A scenario in one line, `topology T1, chain_length 2`."""
    return ", ".join(f"{name} {level_text(value)}" for name, value in scenario.items())


def scenario_key(scenario: Levels) -> str:
    """A scenario as a dictionary key (1, 1.0 and True are different levels)."""
    return json.dumps(scenario, sort_keys=True)


def is_number(level: Any) -> bool:
    """Whether a level can stand on a numeric axis (truth values are categories)."""
    return isinstance(level, int | float) and not isinstance(level, bool)


def _automatic(row: Summary, rows: Sequence[Summary], x: str, series: str | None) -> FigureSpec:
    values = [value for r in rows for value in (r.mean, r.ci_high) if value is not None]
    scale = units.scale_for(values, row.unit, row.metric)
    title = units.metric_title(row.metric)
    return FigureSpec(
        name=f"{row.label}-{row.metric}",
        title=f"{row.label}: {title}",
        probe=row.label,
        metric=row.metric,
        x=x,
        series=series,
        x_label=x.replace("_", " ") or "scenario",
        y_label=f"{title} [{scale.unit or '1'}]",
        y_scale=scale.factor,
        fit="none",
    )


def _varying(scenarios: Sequence[Levels]) -> list[str]:
    factors = dict.fromkeys(name for levels in scenarios for name in levels)
    return [factor for factor in factors if len(axis_levels(factor, scenarios)) > 1]


def _teller(factor: str, scenario: Levels, tellers: Sequence[str]) -> str:
    level = level_text(scenario.get(factor))
    # `T1` speaks for itself, `2` does not.
    plain = isinstance(scenario.get(factor), str) and len(tellers) == 1
    return level if plain else f"{factor.replace('_', ' ')} {level}"


def _level_key(level: Any) -> str:
    """A level as a dictionary key; 1, 1.0, True and "1" differ."""
    return json.dumps(level, sort_keys=True)
