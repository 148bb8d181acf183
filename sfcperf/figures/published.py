"""Published values of claims in a figure: those of a point or a series that the figure draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sfcperf.figures.plot import Plot, Point, Published
from sfcperf.figures.results import RUN
from sfcperf.presentation.levels import level_key, level_text
from sfcperf.presentation.wording import shortened
from sfcperf.workflow.figures import LINE
from sfcperf.workflow.model import Claim, Operand

_MOST_ABOVE = 3.0
"""Ratio of a published value and the largest measured one from which on it is only in the
legend."""
_LONGEST_SOURCE = 60
"""Most characters of a source in the legend."""


def with_published(plot: Plot, claims: Iterable[Claim]) -> Plot:
    """Add the published values to a figure that has points. Values of ratios, differences and
    slopes are not of the figure's metric, and those of several series are of none of them."""
    if plot.is_per_scenario:
        return plot
    found = (_published(plot, claim) for claim in claims)
    return replace(plot, published=tuple(value for value in found if value is not None))


def by_label(plot: Plot) -> Mapping[str, Sequence[Published]]:
    """Return label in the legend -> published values that share it: those of one source, of one
    series, read off a plot or not. One that is not drawn has a label of its own, with its value."""
    groups: dict[str, list[Published]] = {}
    for value in plot.published:
        label = shortened(value.claim.source, _LONGEST_SOURCE)
        if len(value.series) == 1 and len(plot.series) > 1:
            label += f", {plot.series[value.series[0]].name}"
        if value.claim.digitised:
            label += ", read off a plot"
        if value.beyond:
            label += f": {value.value * plot.spec.y_scale:.4g}, beyond the axis"
        groups.setdefault(label, []).append(value)
    return groups


def _published(plot: Plot, claim: Claim) -> Published | None:
    """Return the published value of a claim; None if it is no number, or not of this figure."""
    operand, value = claim.of, claim.published
    if operand is None or claim.to or isinstance(value, str):
        return None
    if operand.slope or operand.minus or operand.over:
        return None
    chosen = [
        (number, point)
        for number, series in enumerate(plot.series)
        for point in series.points
        if _is_chosen(plot, point, operand)
    ]
    if value is None or not _has_all(operand, [point for _, point in chosen]):
        return None
    scenarios = {_key(point) for _, point in chosen}
    series = [{_key(point) for point in each.points} for each in plot.series]
    if len(scenarios) != 1 and scenarios not in series:
        return None
    points = {_key(point): point for _, point in chosen}
    return Published(
        tuple(points.values()),
        tuple(sorted({number for number, _ in chosen})),
        claim,
        value,
        _is_beyond(plot, value),
    )


def _is_chosen(plot: Plot, point: Point, operand: Operand) -> bool:
    """Whether a point shows the operand's metric in a scenario with its levels."""
    shown: list[tuple[str, str, str | None]] = [(plot.spec.probe, plot.spec.metric, None)]
    if plot.spec.lines:
        lines = (line for line in plot.spec.lines if line.name == point.scenario[LINE])
        shown = [(line.probe, line.metric, line.source) for line in lines]
    return (operand.probe, operand.metric, operand.monitor) in shown and all(
        factor in point.scenario and level_text(point.scenario[factor]) in texts
        for factor, texts in operand.at.items()
    )


def _has_all(operand: Operand, points: Sequence[Point]) -> bool:
    """Whether each level of the operand has a point: a mean over fewer is not the published one."""
    return bool(points) and all(
        {level_text(point.scenario[factor]) for point in points} == set(texts)
        for factor, texts in operand.at.items()
    )


def _key(point: Point) -> str:
    """Return a point's scenario as a key, the same in all runs."""
    return level_key({name: level for name, level in point.scenario.items() if name != RUN})


def _is_beyond(plot: Plot, value: float) -> bool:
    estimates = [plot.estimate(row) for row in plot.summaries]
    ends = [abs(end) for e in estimates for end in (e.value, e.low, e.high) if end is not None]
    return abs(value) > _MOST_ABOVE * max(ends, default=abs(value))
