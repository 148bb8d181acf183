"""Charts of a comparison: every trial of all sides, relative to the baseline's median."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from markupsafe import escape

from sfcperf.analysis.comparison import Comparison, Row, Sample
from sfcperf.analysis.statistics import median_interval
from sfcperf.comparison import wording
from sfcperf.counts import count_text
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import by_metric, level_text, scenario_name
from sfcperf.presentation.pages import Chart
from sfcperf.results.tables import factor_names

_APART = 0.7
"""Share of the distance between two scenarios over which the sides are spread."""


@dataclass(frozen=True)
class TrialsChart(Chart):
    """A chart of the trials of one metric, scenario by scenario."""

    description: str
    """Text for those who cannot see the chart."""


def charts(comparison: Comparison) -> list[TrialsChart]:
    """Return a chart per probe and metric, those of primary metrics first."""
    groups = sorted(by_metric(comparison.rows).values(), key=lambda group: not group[0].primary)
    return [_chart(f"trials-{i}", comparison, group) for i, group in enumerate(groups)]


def side_anchor(side: int, trial: str) -> str:
    """Return the name of a trial's row on the page. It has the number of the side, because trial
    ids are unique within a side only."""
    return f"{side}-{trial}"


def _chart(identity: str, comparison: Comparison, group: Sequence[Row]) -> TrialsChart:
    """Make the chart of the rows of one metric. It is relative to the baseline unless the baseline
    of a row is 0 or has no trial."""
    first = group[0]
    places: dict[str, int] = {}
    for row in group:
        places.setdefault(_levels_text(row.scenario), len(places))
    relative = all(wording.numbers_of(row)[0] for row in group)
    values = [v for row in group for v in (*row.a.values, *row.b.values)]
    scale = units.scale_for(values, first.unit, first.metric)
    name = units.metric_title(first.metric)
    factors = factor_names(row.scenario for row in group)
    data = {
        "kind": "line",
        "zero": False,
        "joined": False,
        "xLabel": ", ".join(factor.replace("_", " ") for factor in factors) or "scenario",
        "yLabel": units.axis_label(f"{name} against the baseline", "%")
        if relative
        else units.axis_label(name, scale.unit),
        "ticks": [{"at": place, "text": text} for text, place in places.items()],
        "series": _series(comparison, group, places, scale, relative),
    }
    confidence = f"{100 * (1 - comparison.options.alpha):g} %"
    note = (
        f"Small marks are valid trials, large ones medians with their {confidence} interval (six "
        "trials or more; hollow: some trials are excluded)."
    )
    zero = "median of the baseline's trials"
    if any(row.replication for row in group):
        zero = "mean of the baseline's runs"
        note = (
            "Small marks are valid trials, large ones the mean of each side's runs (hollow: some "
            "trials are excluded)."
        )
    if relative:
        note += f" 0 % is the {zero}."
    sides = 1 + len(comparison.candidates)
    description = f"{data['yLabel']}, {len(values)} trials of {sides} sides."
    return TrialsChart(identity, f"{first.label}: {name}", note, data, description)


def _series(
    comparison: Comparison,
    group: Sequence[Row],
    places: Mapping[str, int],
    scale: units.Scale,
    relative: bool,
) -> list[dict[str, Any]]:
    """Return the chart's series: one of the baseline, then one of each candidate. `places`: text of
    a scenario's levels -> its place on the x axis."""
    names = [comparison.baseline.name, *(side.name for side in comparison.candidates)]
    titles = wording.side_titles(comparison)
    series = []
    for index, name in enumerate(names):
        samples = {
            _levels_text(row.scenario): (row, row.b if index else row.a)
            for row in group
            if index == 0 or row.candidate == name
        }
        # The sides of a scenario stand beside each other, around its place.
        aside = (index - (len(names) - 1) / 2) * _APART / len(names)
        drawing = _Drawing(index, scale, relative, 1 - comparison.options.alpha)
        series.append(
            {
                "name": str(escape(titles[name])),
                "style": palette.style(index).plotly(),
                "points": [
                    drawing.point(places[key] + aside, row, sample)
                    for key, (row, sample) in samples.items()
                    if sample.values
                ],
                "trials": [
                    trial
                    for key, (row, sample) in samples.items()
                    for trial in drawing.trials(places[key] + aside, row, sample, name)
                ],
                "fit": None,
            }
        )
    return series


@dataclass(frozen=True)
class _Drawing:
    """Converts the values of one side to points of a chart."""

    side: int
    """Place of the side among all: 0 is the baseline."""
    scale: units.Scale
    relative: bool
    """Whether the chart shows per cent of the baseline; else the chart's unit."""
    confidence: float

    def y(self, row: Row, value: float) -> float:
        """Return the height of a value: per cent above the baseline's number in a relative chart,
        else the value in the chart's unit."""
        baseline, _ = wording.numbers_of(row)
        if self.relative and baseline:
            return 100 * (value - baseline) / abs(baseline)
        return value * self.scale.factor

    def point(self, place: float, row: Row, sample: Sample) -> dict[str, Any]:
        """Return the large mark of a sample at this place on the x axis. It is the median with its
        interval. Of several runs it is the mean of their means without an interval, which for so
        few runs would be wider than the chart."""
        assert sample.median is not None
        runs = sample.by_run()
        if row.replication is not None:
            number = fmean(fmean(values) for values in runs)
            interval, text = None, f"mean of {count_text(len(runs), 'run')}"
        else:
            number, text = sample.median, "median"
            interval = median_interval(sample.values, self.confidence)
        return {
            "x": place,
            "y": self.y(row, number),
            "low": None if interval is None else self.y(row, interval.low),
            "high": None if interval is None else self.y(row, interval.high),
            "trusted": not sample.missing,
            "text": f"{text} {self.scale.quantity(number)}, n = {len(sample.values)}",
        }

    def trials(self, place: float, row: Row, sample: Sample, side: str) -> list[dict[str, Any]]:
        """Return the small mark of each trial that counts, at this place on the x axis. `side`:
        name of the side."""
        return [
            {
                "x": place,
                "y": self.y(row, value),
                "anchor": "trial-" + side_anchor(self.side, trial),
                "status": "valid",
                "text": f"<b>{escape(trial)}</b><br>{escape(side)}: {self.scale.quantity(value)}",
            }
            for trial, value in zip(sample.trials, sample.values, strict=True)
        ]


def _levels_text(scenario: Mapping[str, Any]) -> str:
    """Name a scenario at an axis by its levels alone: the axis' label names the factors."""
    return ", ".join(level_text(level) for level in scenario.values()) or scenario_name(scenario)
