"""Figures as data, which matplotlib or plotly draw: which point of which line stands where.

Nothing is left out silently. A scenario of the workflow without a number is a `missing` point, one
with untrusted or failed trials is an `untrusted` point, and both renderers mark them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from sfcperf.analysis.statistics import LOOKS, Rules
from sfcperf.figures.distribution import BandPoint, band
from sfcperf.figures.results import RUN
from sfcperf.figures.time_curve import TimeStep, time_curve
from sfcperf.presentation import units
from sfcperf.presentation.levels import (
    Levels,
    axis_levels,
    is_number,
    level_key,
    level_text,
    scenario_name,
    varying,
)
from sfcperf.results.records import Estimate, Summary
from sfcperf.workflow.figures import LINE
from sfcperf.workflow.model import DISTRIBUTIONS, Claim, FigureSpec

if TYPE_CHECKING:
    from sfcperf.figures.trial_index import TrialIndex, TrialValue

PointState = Literal["trusted", "untrusted", "missing"]

VARIANT = "variant"
"""Factor of interleaved A/B designs."""


@dataclass(frozen=True)
class Point:
    """A scenario in a figure, with the number and the trials that it shows there."""

    level: Any
    """Level of the factor on the x axis."""
    scenario: Levels
    summary: Summary | None
    """Row with the numbers; None if the run has no row for this scenario."""
    trials: tuple[TrialValue, ...] = ()
    """Trials that have a number, also those that do not count; empty if the figure was resolved
    without trials."""

    @property
    def state(self) -> PointState:
        """`missing` without a number, `untrusted` if trials are untrusted, failed or missing, else
        `trusted`."""
        if self.summary is None or self.summary.mean is None:
            return "missing"
        return "trusted" if self.summary.valid else "untrusted"

    @property
    def valid_trials(self) -> list[TrialValue]:
        """Trials that count."""
        return [trial for trial in self.trials if trial.record.status == "valid"]

    def band(self, metric: str) -> list[BandPoint]:
        """Return the band of the distribution of a metric's samples within a typical trial; empty
        without a summary, and where a percentile has no interval."""
        row = self.summary
        if row is None:
            return []
        return band([trial.series(metric) for trial in self._by_time], _rules(row))

    def curve(self, metric: str, centre: str) -> list[TimeStep]:
        """Return the curve over time of a metric within the trials that count; empty if their
        series have no even steps."""
        row = self.summary
        if row is None:
            return []
        records = [trial.record for trial in self._by_time]
        return time_curve(records, metric, _rules(row), "mean" if centre == "mean" else "median")

    @property
    def _by_time(self) -> list[TrialValue]:
        """Valid trials in order of time."""
        return sorted(self.valid_trials, key=lambda trial: trial.record.started_at)


def _rules(row: Summary) -> Rules:
    """Return the rules of a row's intervals, as far as the row tells them."""
    # A row does not say when a stopped run first looked; the earliest gives the widest band.
    return Rules(row.confidence, first_look=1 if row.median_method.endswith(LOOKS) else None)


@dataclass(frozen=True)
class Series:
    """A line (or a colour of bars) of a figure."""

    name: str
    """Levels that tell the series apart, e.g. `T1`; empty if it is the only one."""
    level: Any
    """Level of the figure's `series` factor; None if the figure names none."""
    points: tuple[Point, ...]
    """Points in the order of the x axis."""


@dataclass(frozen=True)
class Published:
    """A published value of what a figure shows: of one scenario, or the mean of a series."""

    points: tuple[Point, ...]
    """Scenario that it is about, or those of a series."""
    series: tuple[int, ...]
    """Places in the figure of the series that it is about; several if these are runs."""
    claim: Claim
    value: float
    """Published value of the claim, in the unit of the files."""
    beyond: bool
    """Whether it is so far above all points that they could not be told apart beside it."""

    @property
    def index(self) -> float:
        """Place in the figure of its series; between them if there are several."""
        return fmean(self.series)


@dataclass(frozen=True)
class Plot:
    """A figure with its points, which `resolve` makes from a specification and the results of one
    run or several."""

    spec: FigureSpec
    series: tuple[Series, ...]
    levels: tuple[Any, ...]
    """Levels on the x axis, in order."""
    numeric: bool
    """Whether the levels are positions on a numeric axis."""
    published: tuple[Published, ...] = ()
    """Published values, which are drawn beside the points."""

    @property
    def is_per_scenario(self) -> bool:
        """Whether the figure has a curve per scenario, and no factor on the x axis."""
        return self.spec.kind in (*DISTRIBUTIONS, "time")

    @property
    def is_distribution(self) -> bool:
        """Whether the curves of the figure are empirical distributions."""
        return self.spec.kind in DISTRIBUTIONS

    @property
    def is_of_trials(self) -> bool:
        """Whether the distributions are of one number per trial: its mean, or the only value that
        it has of the metric."""
        return self.spec.kind == "ecdf-trials" or not any(
            len(trial) > 1 for point in self.points for trial in self.samples(point)
        )

    @property
    def share_label(self) -> str:
        """Label of a distribution's y axis."""
        return units.axis_label(f"Share of {'trials' if self.is_of_trials else 'samples'}", "")

    def samples(self, point: Point) -> list[list[float]]:
        """Return for each valid trial its samples (`ecdf`) or its mean (`ecdf-trials`), in the unit
        that is drawn."""
        scale, metric = self.spec.y_scale, self.spec.metric
        if self.spec.kind == "ecdf-trials":
            return [[trial.value * scale] for trial in point.valid_trials]
        return [[v * scale for v in trial.series(metric)] for trial in point.valid_trials]

    def band(self, point: Point) -> list[BandPoint]:
        """Return the band of the samples within a typical trial, in the unit of the files; empty
        for a distribution of trials, which has none."""
        return [] if self.is_of_trials else point.band(self.spec.metric)

    def position(self, level: Any) -> float:
        """Return the place of a level on the x axis: its number, or its index if levels are
        categories."""
        return float(level) if self.numeric else float(self.place(level))

    @staticmethod
    def tick_text(level: Any) -> str:
        """Return the text of a level at the axis; empty for None, the level of scenarios without
        the factor."""
        return "" if level is None else level_text(level)

    def place(self, level: Any) -> int:
        """Return the index of a level among those on the x axis."""
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
    def centre(self) -> str:
        """Centre that the points stand for, `mean` or `median`: the figure's own choice, else what
        the run declares. Boxes and distributions have no choice."""
        centre = self.spec.centre if self.spec.kind in ("line", "bar", "time") else None
        return centre or next((row.centre for row in self.summaries), "median")

    def estimate(self, row: Summary) -> Estimate:
        """Return the number and interval that the point of a row stands for, both of the figure's
        centre: never a mean with the interval of a median."""
        return row.estimate(self.centre)

    def count(self, state: PointState) -> int:
        """Count the points in a state."""
        return sum(point.state == state for point in self.points)


def resolve(
    spec: FigureSpec,
    summaries: Iterable[Summary],
    scenarios: Sequence[Levels],
    trials: TrialIndex | None = None,
) -> Plot:
    """Resolve a figure into its points.

    `scenarios` are the level mappings of all scenarios that the workflow planned. Factors that
    vary, and that neither axis nor series name, become part of the series' name, so that two
    scenarios never share a point. `trials` gives each point the trials behind it; None: points have
    no trials.
    """
    rows = {
        level_key(row.scenario): row
        for row in summaries
        if row.label == spec.probe and row.metric == spec.metric
    }
    axis = axis_levels(spec.x, scenarios)
    distinguishing = [name for name in varying(scenarios) if name != spec.x]
    if spec.series is not None:
        distinguishing = [spec.series, *(name for name in distinguishing if name != spec.series)]
    # Names that the figure's legend gives to levels.
    names = {(factor, level): name for factor, level, name in spec.legend}
    # Name of a series -> key of a level on the x axis -> point.
    groups: dict[str, dict[str, Point]] = {}
    levels: dict[str, Any] = {}
    for scenario in scenarios:
        parts = [
            names.get((f, level_text(scenario[f]))) or _series_part(f, scenario, distinguishing)
            for f in distinguishing
            if f in scenario
        ]
        name = ", ".join(parts)
        level = scenario.get(spec.x)
        behind = () if trials is None else trials.of(spec.probe, scenario, spec.metric)
        point = Point(level, scenario, rows.get(level_key(scenario)), behind)
        groups.setdefault(name, {})[level_key(level)] = point
        levels.setdefault(name, scenario.get(spec.series) if spec.series is not None else None)
    series = tuple(
        Series(name, levels[name], tuple(p[k] for k in map(level_key, axis) if k in p))
        for name, p in groups.items()
    )
    unit = next((row.unit for row in rows.values()), "")
    spec = replace(spec, x_label=spec.x_label or _x_label(spec.x, scenarios))
    return Plot(_labelled(spec, unit), series, axis, all(is_number(level) for level in axis))


def _labelled(spec: FigureSpec, unit: str) -> FigureSpec:
    """Fill in the label of the y axis if the figure has none."""
    title = units.metric_title(spec.metric)
    shown = units.scaled_unit(spec.y_scale, unit, spec.metric)
    return replace(
        spec,
        y_label=spec.y_label or units.axis_label(title, shown),
    )


def _x_label(factor: str, scenarios: Sequence[Levels]) -> str:
    """Return the label of the x axis: the factor, or the only scenario if there are no factors."""
    if len(scenarios) == 1 and not scenarios[0]:
        return scenario_name(scenarios[0])
    return factor.replace("_", " ") or "scenario"


def _series_part(factor: str, scenario: Levels, distinguishing: Sequence[str]) -> str:
    """Return what a factor adds to the name of a series: the scenario's level, with the factor's
    name where the level does not speak for itself. `distinguishing`: all factors of the name."""
    level = level_text(scenario[factor])
    # `T1` speaks for itself, and so does a name that the user gave to a run, variant or line; `2`
    # needs the name of its factor.
    named = factor in (RUN, VARIANT, LINE) or len(distinguishing) == 1
    if named and isinstance(scenario[factor], str):
        return level
    return f"{factor.replace('_', ' ')} {level}"
