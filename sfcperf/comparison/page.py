"""The page of a comparison: one HTML file that opens offline and fetches nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sfcperf.analysis.comparison import (
    VARIANT,
    Comparison,
    Estimate,
    Row,
    Side,
    Verdict,
    percent_text,
)
from sfcperf.comparison import wording
from sfcperf.comparison.charts import charts
from sfcperf.comparison.forest import Axis, axis_of, mark
from sfcperf.comparison.headline import headline
from sfcperf.counts import count_text
from sfcperf.presentation import units
from sfcperf.presentation.forest import Mark
from sfcperf.presentation.pages import relative_link, render
from sfcperf.results.records import TrialRecord

_ORDER: tuple[Verdict, ...] = ("worse", "different", "better", "undecided", "equivalent")
"""Verdicts in the order in which a reader looks for them."""
LEVELS: tuple[Literal["between", "within"], ...] = ("between", "within")
"""Levels of dispersion: between runs, and within a run."""


@dataclass(frozen=True)
class RowView:
    """A row of the page's table, with the texts and places that the template cannot compute."""

    row: Row
    side: int
    """Place of the candidate among the sides; the baseline's is 0."""
    mark: Mark | None
    """Drawing of the row in the forest plot; None for a row without a relative difference."""
    medians: tuple[str, str]
    """Number of baseline and of candidate: medians of trials, or means of runs."""
    dispersions: tuple[str, str]
    """Dispersion between runs and within them; `–` without several runs."""
    pays: str
    """What would decide a row of several runs; empty for other rows."""
    numbers: tuple[tuple[str, str], ...]
    """Name and text of each number that has no column in the table."""


@dataclass(frozen=True)
class TrialView:
    """A trial of a side."""

    id: str
    """Id of the trial as rows have it, which is unique in its side."""
    record: TrialRecord
    scenario: Mapping[str, Any]
    """Levels of its scenario, without `variant` if the side is one."""
    counted: bool
    """Whether a row rests on it; otherwise rows exclude it."""


@dataclass(frozen=True)
class RunView:
    """A run of a side with its trials."""

    number: int
    """Number of the run in its side, from 1."""
    run_id: str
    report: str | None
    """Path of the run's report from this page; None if the run has none."""
    trials: tuple[TrialView, ...]
    """All trials that rows rest on or exclude."""


@dataclass(frozen=True)
class SideView:
    """A side with its runs."""

    name: str
    runs: tuple[RunView, ...]

    @property
    def trials(self) -> int:
        """Number of trials of all runs."""
        return sum(len(run.trials) for run in self.runs)


def comparison_page(comparison: Comparison, sides: Sequence[Side], target: Path) -> str:
    """Return the HTML of the page. `target` is where it will be written, from where links lead to
    the runs' reports; `sides` are those that were compared, the baseline first."""
    drawn = charts(comparison)
    axis = axis_of(comparison.rows)
    counts = comparison.counts()
    titles = wording.side_titles(comparison)
    candidates = ", ".join(titles[side.name] for side in comparison.candidates)
    return render(
        "sfcperf.comparison",
        "comparison.html.j2",
        drawn,
        comparison=comparison,
        title=f"{candidates} against {titles[comparison.baseline.name]}",
        level=_level(comparison),
        headline=headline(comparison),
        counts=[(name, counts[name], wording.MARKS[name]) for name in _ORDER],
        axis=axis,
        rows=[_view(row, comparison, axis) for row in comparison.rows],
        wording=wording,
        needs_more=any(map(wording.needed_text, comparison.rows)),
        by_runs=any(row.replication for row in comparison.rows),
        sides=[_side(index, side, comparison, target) for index, side in enumerate(sides)],
        charts=drawn,
        many=len(comparison.candidates) > 1,
        family=max((row.family for row in comparison.rows), default=0),
        interval_title=wording.interval_title(comparison),
        confidence=f"{100 * (1 - comparison.options.alpha):g} %",
        tost_confidence=f"{100 * (1 - 2 * comparison.options.alpha):g} %",
    )


def _level(comparison: Comparison) -> Literal["trustworthy", "care", "not"]:
    """Return the colour class of the headline: `not` if something got worse, `care` if a reader has
    to look closer, `trustworthy` otherwise."""
    counts = comparison.counts()
    if counts["worse"] or any(each.verdict == "worse" for each in comparison.crashes):
        return "not"
    lossy = any(row.lossy for row in comparison.rows)
    care = counts["undecided"] or counts["different"] or comparison.crashes or lossy
    return "care" if care else "trustworthy"


def _view(row: Row, comparison: Comparison, axis: Axis) -> RowView:
    """Compute what the template shows of a row."""
    scale = wording.scale_of(row, comparison.rows)
    return RowView(
        row,
        1 + [side.name for side in comparison.candidates].index(row.candidate),
        mark(row, axis),
        wording.side_texts(row, scale),
        (
            wording.dispersion_text(row, "between", scale),
            wording.dispersion_text(row, "within", scale),
        ),
        wording.what_pays(row),
        tuple(_numbers(row, scale)),
    )


def _numbers(row: Row, scale: units.Scale) -> list[tuple[str, str]]:
    """Return the name and the text of each number that the table has no column for."""
    family = (
        f"over {count_text(row.family, 'row')}"
        if row.family
        else "since so few trials cannot decide the row"
    )
    return [
        *_of_runs(row, scale),
        ("Difference", _estimate(row.difference, scale)),
        ("Relative difference", _relative(row.relative, row)),
        ("Difference of means", _estimate(row.mean_difference, scale)),
        ("Ratio of means", _tost(row.mean_ratio, row)),
        ("Means", f"{scale.quantity(row.a.mean)} and {scale.quantity(row.b.mean)}"),
        ("Effect size", _plain(row.effect)),
        ("Difference in standard deviations", _plain(row.hedges_g)),
        ("Test", row.test or "none"),
        ("p", f"{wording.p_text(row.p)}; by Holm {wording.p_text(row.p_holm)}, {family}"),
        ("Smallest possible p", wording.p_text(row.p_least)),
        (
            "Equivalence",
            f"p {wording.p_text(row.tost_p)} for a margin of {wording.margin_text(row)}; "
            f"shift {_tost(row.tost_interval, row)}",
        ),
        ("Not equivalent because", "; ".join(row.withheld) or "–"),
        (
            "Rarest mode that would be seen",
            f"{100 * row.rarest_mode:.2g} % of the trials (of {min(row.n_a, row.n_b)})",
        ),
    ]


def _of_runs(row: Row, scale: units.Scale) -> list[tuple[str, str]]:
    """Return name and text of what runs tell: the noise floor of a row of one run per side, or the
    dispersions and costs of a row of several runs. Empty if nothing is known of runs."""
    if row.floor is not None:
        size, spread = (
            percent_text(value) if row.floor.ratios else scale.quantity(value)
            for value in (row.floor.limit, row.floor.between)
        )
        if not row.floor.between:
            return [("Noise floor", f"{', '.join(row.floor.runs)} gave the same value")]
        return [
            (
                "Noise floor",
                f"two runs of the same thing differ by up to {size} here; runs scatter by {spread} "
                f"(sd), from {', '.join(row.floor.runs)}",
            )
        ]
    found = row.replication
    if found is None:
        return []
    views = [("Unit of replication", "the run: each counts once, by the mean of its trials")]
    for name, side in (("baseline", found.a), ("candidate", found.b)):
        means = ", ".join(scale.quantity(value) for value in side.means)
        views.append((f"Runs of the {name}", f"{side.runs} of {side.rounds:.3g} rounds: {means}"))
    between, within = (wording.dispersion_text(row, level, scale) for level in LEVELS)
    views.append(("Dispersion (sd)", f"between runs {between}, between rounds of a run {within}"))
    if found.run_s is not None and found.round_s is not None:
        cost = f"a run {found.run_s:.3g} s besides its rounds, a round {found.round_s:.3g} s"
        views.append(("Cost", cost))
    if pays := wording.what_pays(row):
        views.append(("Would decide", pays))
    return views


def _estimate(estimate: Estimate | None, scale: units.Scale) -> str:
    """Return an estimate as text: value and interval with the scale's unit, and the method; `–` for
    None."""
    if estimate is None:
        return "–"
    half = units.half_width(estimate.low, estimate.high)
    interval = f" {scale.interval(estimate.low, estimate.high)}" if half is not None else ""
    value = scale.with_unit(scale.number(estimate.value, half))
    return f"{value}{interval}, {estimate.method}"


def _relative(estimate: Estimate | None, row: Row) -> str:
    """Return a relative difference of a row as text: value, interval and method."""
    if estimate is None:
        return f"none: {wording.why_no_ratio(row)}"
    return f"{wording.relative_text(estimate)} {wording.interval_text(estimate)}, {estimate.method}"


def _tost(estimate: Estimate | None, row: Row) -> str:
    """Return a ratio of a row with its interval and the interval's confidence, which is not that of
    the other intervals of the page."""
    if estimate is None:
        return f"none: {wording.why_no_ratio(row)}"
    return (
        f"{wording.relative_text(estimate)} {wording.interval_text(estimate)} at "
        f"{100 * estimate.confidence:g} %, {estimate.method}"
    )


def _plain(estimate: Estimate | None) -> str:
    """Return an estimate without a unit as text."""
    return _estimate(estimate, units.Scale(1.0, ""))


def _side(index: int, side: Side, comparison: Comparison, target: Path) -> SideView:
    """Collect the runs of a side and the trials that rows rest on or exclude. `index`: place of the
    side, 0 for the baseline, whose trials are `a` in every row."""
    rows = comparison.rows
    samples = [row.b for row in rows if row.candidate == side.name]
    if index == 0:
        samples = [row.a for row in rows]
    counted = {trial for sample in samples for trial in sample.trials}
    shown = counted | {trial for sample in samples for trial in sample.excluded}
    several = len(side.stores) > 1
    runs = []
    for number, store in enumerate(side.stores, 1):
        trials = []
        for record in store.trials():
            name = f"{number}/{record.trial_id}" if several else record.trial_id
            if name in shown:
                levels = _levels(record.scenario, side)
                trials.append(TrialView(name, record, levels, name in counted))
        report = store.report
        link = relative_link(report, target.parent) if report.is_file() else None
        runs.append(RunView(number, store.run_id, link, tuple(trials)))
    return SideView(side.name, tuple(runs))


def _levels(scenario: Mapping[str, Any], side: Side) -> Mapping[str, Any]:
    """Return the levels of a scenario, without `variant` if the side is a variant."""
    if side.variant is None:
        return scenario
    return {name: level for name, level in scenario.items() if name != VARIANT}
