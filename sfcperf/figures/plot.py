"""Figures as data: which point of which line stands where, drawn by matplotlib or by plotly.

Nothing is left out silently: a scenario of the workflow without a number is a `missing` point, one
with untrusted or failed trials an `untrusted` point, and both renderers mark them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sfcperf.figures.estimate import Centre, Estimate, estimate
from sfcperf.presentation import units
from sfcperf.presentation.levels import (
    Levels,
    axis_levels,
    is_number,
    level_key,
    level_text,
    scenario_key,
    scenario_text,
    varying,
)
from sfcperf.results.records import Summary
from sfcperf.workflow.figures import LINE
from sfcperf.workflow.model import FigureSpec

if TYPE_CHECKING:
    from sfcperf.figures.trial_index import TrialIndex, TrialValue

__all__ = [
    "Levels",
    "Plot",
    "Point",
    "Series",
    "automatic",
    "axis_levels",
    "level_text",
    "resolve",
    "scenario_key",
    "scenario_text",
]

PointState = Literal["trusted", "untrusted", "missing"]

RUN = "run"
"""Factor whose levels are the labels of runs, in figures over many runs."""
VARIANT = "variant"
"""Factor of interleaved A/B designs."""


@dataclass(frozen=True)
class Point:
    """A scenario in a figure."""

    level: Any
    """Level of the factor on the x axis."""
    scenario: Levels
    summary: Summary | None
    """None when the run has no row for this scenario."""
    trials: tuple[TrialValue, ...] = ()
    """Trials that have a number, also those that do not count; empty when the figure was resolved
    without trials."""

    @property
    def state(self) -> PointState:
        """Whether the number can be believed, and whether there is one."""
        if self.summary is None or self.summary.mean is None:
            return "missing"
        return "trusted" if self.summary.valid else "untrusted"

    @property
    def valid_trials(self) -> list[TrialValue]:
        """Trials that count."""
        return [trial for trial in self.trials if trial.record.status == "valid"]


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
        return [level_key(known) for known in self.levels].index(level_key(level))

    @property
    def points(self) -> list[Point]:
        """Points of all series."""
        return [point for series in self.series for point in series.points]

    @property
    def summaries(self) -> list[Summary]:
        """Rows behind the points that have a number."""
        return [p.summary for p in self.points if p.summary is not None and p.state != "missing"]

    @property
    def centre(self) -> Centre:
        """What the points stand for; boxes and distributions mark means."""
        return self.spec.centre if self.spec.kind in ("line", "bar") else "mean"

    def estimate(self, row: Summary) -> Estimate:
        """What the point of a row stands for, with its interval."""
        return estimate(row, self.centre)

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
        if self.spec.kind == "ecdf":
            return f"Distribution of all samples of the valid trials ({trials} each)."
        estimates = [self.estimate(row) for row in rows]
        what = "Medians. " if self.centre == "median" else ""
        bare = sum(one.half_width is None for one in estimates)
        if bare == len(rows):
            need = "more" if what else "two"
            return f"{what}No error bars: an interval needs {need} valid trials ({trials})."
        levels = " / ".join(f"{100 * level:g} %" for level in sorted({r.confidence for r in rows}))
        methods = ", ".join(sorted({e.method for e in estimates if e.half_width is not None}))
        text = f"{what}Error bars: {levels} confidence interval, {methods}, {trials} trials."
        if bare:
            points = "1 point" if bare == 1 else f"{bare} points"
            text += f" None at {points}: too few trials."
        if what and any("repeated looks" in row.method for row in rows):
            text += " Rounds were stopped by the mean's interval; the median's is not corrected."
        return text

    def _count(self, state: PointState) -> int:
        return sum(point.state == state for point in self.points)


def resolve(
    spec: FigureSpec,
    summaries: Iterable[Summary],
    scenarios: Sequence[Levels],
    trials: TrialIndex | None = None,
) -> Plot:
    """The points of a figure.

    `scenarios` are the level mappings of all scenarios that the workflow planned. Factors that
    neither axis nor series name become part of the series' name when they vary, so that two
    scenarios never share a point. `trials` adds to each point the trials behind it.
    """
    rows = {
        scenario_key(row.scenario): row
        for row in summaries
        if row.label == spec.probe and row.metric == spec.metric
    }
    axis = axis_levels(spec.x, scenarios)
    tellers = [name for name in varying(scenarios) if name != spec.x]
    if spec.series is not None:
        tellers = [spec.series, *(name for name in tellers if name != spec.series)]
    groups: dict[str, dict[str, Point]] = {}
    levels: dict[str, Any] = {}
    for scenario in scenarios:
        name = ", ".join(_teller(f, scenario, tellers) for f in tellers if f in scenario)
        level = scenario.get(spec.x)
        behind = () if trials is None else trials.of(spec.probe, scenario, spec.metric)
        point = Point(level, scenario, rows.get(scenario_key(scenario)), behind)
        groups.setdefault(name, {})[level_key(level)] = point
        levels.setdefault(name, scenario.get(spec.series) if spec.series is not None else None)
    series = tuple(
        Series(name, levels[name], tuple(p[k] for k in map(level_key, axis) if k in p))
        for name, p in groups.items()
    )
    return Plot(spec, series, axis, all(is_number(level) for level in axis))


def automatic(summaries: Sequence[Summary], scenarios: Sequence[Levels]) -> list[FigureSpec]:
    """A figure for each metric of each probe: the first numeric factor that varies on the x axis
    (else the first that varies), the other factors as series. Runs and variants are what is
    compared: they are the series unless nothing else varies."""
    changing = varying(scenarios)
    compared = [name for name in (RUN, VARIANT) if name in changing]
    free = [name for name in changing if name not in compared]
    numeric = [f for f in free if all(is_number(v) for v in axis_levels(f, scenarios))]
    factors = list(dict.fromkeys(name for levels in scenarios for name in levels))
    x = next(iter([*numeric, *free, *compared, *factors]), "")
    series = next((name for name in [*compared, *free] if name != x), None)
    kinds = {(row.label, row.metric): row for row in summaries}
    groups: dict[tuple[str, str], list[Summary]] = {key: [] for key in kinds}
    for row in summaries:
        groups[row.label, row.metric].append(row)
    return [measured(row, groups[key], x, series) for key, row in kinds.items()]


def measured(row: Summary, rows: Sequence[Summary], x: str, series: str | None) -> FigureSpec:
    """The figure of a metric (`row` is one of its `rows`) against a factor, in a unit in which its
    largest value reads between 1 and 1000."""
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


def _teller(factor: str, scenario: Levels, tellers: Sequence[str]) -> str:
    level = level_text(scenario[factor])
    # `T1` speaks for itself, `2` does not; and a name that the user gave to a run, variant or line.
    named = factor in (RUN, VARIANT, LINE) or len(tellers) == 1
    return (
        level
        if isinstance(scenario[factor], str) and named
        else (f"{factor.replace('_', ' ')} {level}")
    )
