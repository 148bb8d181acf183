"""The page of a comparison: one HTML file that opens offline and fetches nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sfcperf.analysis.comparison import Comparison, Estimate, Row, Side
from sfcperf.analysis.comparison.sides import VARIANT
from sfcperf.comparison import wording as words
from sfcperf.comparison.charts import charts, side_anchor
from sfcperf.comparison.forest import Mark, axis_of, mark
from sfcperf.figures.plot import scenario_text
from sfcperf.presentation import units
from sfcperf.presentation.html_page import asset, environment, page_parts
from sfcperf.results.records import TrialRecord

_ORDER = ("worse", "different", "better", "undecided", "equivalent")
"""What a reader looks for first."""


@dataclass(frozen=True)
class RowView:
    """A row as shown."""

    row: Row
    anchor: str
    scenario: str
    metric: str
    mark: Mark | None
    change: str
    interval: str
    centre_a: str
    centre_b: str
    p: str
    p_holm: str
    verdict: str
    sign: str
    needed: str
    numbers: tuple[tuple[str, str], ...]
    """All the rest, by name."""
    side: int
    """Place of the candidate among the sides."""


@dataclass(frozen=True)
class TrialView:
    """A trial that a row rests on, or that was left out."""

    anchor: str
    record: TrialRecord
    scenario: str
    started: str
    counted: bool


@dataclass(frozen=True)
class SideView:
    """A side with its trials."""

    name: str
    run_id: str
    report: str | None
    """Path of the run's report from this page; None when there is none."""
    trials: tuple[TrialView, ...]


def comparison_page(comparison: Comparison, sides: Sequence[Side], target: Path) -> str:
    """HTML to be written to `target`, which decides where links to the runs' reports lead;
    `sides` are those that were compared, the baseline first."""
    drawn = charts(comparison, comparison.rows)
    axis = axis_of(comparison.rows)
    parts = page_parts()
    context = {
        **parts,
        "style": parts["style"] + asset("sfcperf.comparison", "comparison.css"),
        "comparison": comparison,
        "title": f"{', '.join(c.name for c in comparison.candidates)} against "
        f"{comparison.baseline.name}",
        "level": _level(comparison),
        "headline": _headline(comparison),
        "counts": [(name, comparison.counts()[name], words.MARKS[name]) for name in _ORDER],  # type: ignore[index]
        "axis": axis,
        "rows": [_view(i, row, comparison, axis) for i, row in enumerate(comparison.rows)],
        "sides": [_side(index, side, comparison, target) for index, side in enumerate(sides)],
        "charts": drawn,
        "data": {chart.id: chart.data for chart in drawn},
        "differences": list(words.grouped_differences(comparison)),
        "caution": words.caution(comparison),
        "method": words.method_text(comparison),
        "needed": words.NEEDED,
        "many": len(comparison.candidates) > 1,
        "confidence": f"{100 * (1 - comparison.options.alpha):g} %",
    }
    return environment("sfcperf.comparison").get_template("comparison.html.j2").render(context)


def _level(comparison: Comparison) -> Literal["trustworthy", "care", "not"]:
    """Colour of the verdict."""
    counts = comparison.counts()
    if counts["worse"]:
        return "not"
    return "care" if counts["undecided"] or counts["different"] else "trustworthy"


def _headline(comparison: Comparison) -> str:
    counts, total = comparison.counts(), len(comparison.rows)
    found = [f"{words.count_of(counts[name], total)} {name}" for name in _ORDER if counts[name]]  # type: ignore[index]
    text = ", ".join(found)
    return text[0].upper() + text[1:]


def _view(index: int, row: Row, comparison: Comparison, axis: Any) -> RowView:
    scale = words.scale_of(row, comparison.rows)
    names = [side.name for side in comparison.candidates]
    return RowView(
        row=row,
        anchor=f"row-{index}",
        scenario=scenario_text(row.scenario) or "the scenario",
        metric=f"{row.label} {units.metric_title(row.metric)}",
        mark=mark(row, axis),
        change=words.relative_text(row.relative),
        interval=words.interval_text(row.relative),
        centre_a=words.centre(row.a.median, scale, row.b.median),
        centre_b=words.centre(row.b.median, scale, row.a.median),
        p=words.p_text(row.p),
        p_holm=words.p_text(row.p_holm),
        verdict=row.verdict,
        sign=words.MARKS[row.verdict],
        needed=words.needed_text(row),
        numbers=tuple(_numbers(row, scale)),
        side=1 + names.index(row.candidate),
    )


def _numbers(row: Row, scale: units.Scale) -> list[tuple[str, str]]:
    """Name and text of every number that the table has no column for."""
    family = f"over {row.family} rows" if row.family else "not corrected: no outcome could decide"
    return [
        ("Difference", _estimate(row.difference, scale)),
        ("Relative difference", _relative(row.relative)),
        ("Difference of means", _estimate(row.mean_difference, scale)),
        ("Means", f"{_value(row.a.mean, scale)} and {_value(row.b.mean, scale)}"),
        ("Effect size", _plain(row.effect)),
        ("In standard deviations", _plain(row.hedges_g)),
        ("Test", row.test or "none"),
        ("p", f"{words.p_text(row.p)}; by Holm {words.p_text(row.p_holm)}, {family}"),
        ("Least p it can reach", words.p_text(row.p_least)),
        ("Equivalence", f"p {words.p_text(row.tost_p)} for a margin of {words.margin_text(row)}"),
    ]


def _estimate(estimate: Estimate | None, scale: units.Scale) -> str:
    if estimate is None:
        return "–"
    factor = scale.factor
    half = None
    if estimate.low is not None and estimate.high is not None:
        half = (estimate.high - estimate.low) / 2 * factor
    text = units.with_unit(units.number(estimate.value * factor, half), scale.unit)
    if half is None or estimate.low is None or estimate.high is None:
        return f"{text}, {estimate.method}"
    low, high = (units.number(end * factor, half) for end in (estimate.low, estimate.high))
    return f"{text} [{low}, {high}], {estimate.method}"


def _relative(estimate: Estimate | None) -> str:
    if estimate is None:
        return "none: the baseline is 0"
    return f"{words.relative_text(estimate)} {words.interval_text(estimate)}, {estimate.method}"


def _plain(estimate: Estimate | None) -> str:
    return _estimate(estimate, units.Scale(1.0, ""))


def _value(value: float | None, scale: units.Scale) -> str:
    if value is None:
        return "–"
    return units.with_unit(units.number(value * scale.factor), scale.unit)


def _side(index: int, side: Side, comparison: Comparison, target: Path) -> SideView:
    samples = [row.b if index else row.a for row in comparison.rows if not index or row.candidate == side.name]  # noqa: E501  # fmt: skip
    counted = {trial for sample in samples for trial in sample.trials}
    shown = counted | {trial for sample in samples for trial in sample.excluded}
    report = side.store.report
    return SideView(
        side.name,
        side.store.run_id,
        os.path.relpath(report.resolve(), target.resolve().parent) if report.is_file() else None,
        tuple(
            TrialView(
                side_anchor(index, record.trial_id),
                record,
                scenario_text(_levels(record.scenario, side)),
                record.started_at[:19].replace("T", " "),
                record.trial_id in counted,
            )
            for record in side.store.trials()
            if record.trial_id in shown
        ),
    )


def _levels(scenario: Mapping[str, Any], side: Side) -> Mapping[str, Any]:
    if side.variant is None:
        return scenario
    return {name: level for name, level in scenario.items() if name != VARIANT}
