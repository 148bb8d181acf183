"""Judge a replay: whether each metric is reproduced (docs/explanation/trust.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import median
from typing import Any, Literal

from sfcperf.analysis.comparison import Comparison, Estimate, Options, Row
from sfcperf.analysis.statistics import at_most, holm, least_to_see
from sfcperf.analysis.two_sample import scale_of, trials_beside
from sfcperf.counts import count_text

Outcome = Literal["reproduced", "not reproduced", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("reproduced", "not reproduced", "undecided")


@dataclass(frozen=True)
class Evaluation:
    """Whether one metric in one scenario is reproduced, and the numbers behind that."""

    scenario: Mapping[str, Any]
    """Factor -> level."""
    label: str
    """Label of the probe."""
    metric: str
    unit: str
    outcome: Outcome
    reason: str
    """Why the outcome is what it is, in words."""
    packaged: float | None = None
    """Median of the packaged run's trials, in the unit."""
    here: float | None = None
    """Median of the replay's trials."""
    n_packaged: int = 0
    n_here: int = 0
    relative: float | None = None
    """Difference, as a ratio of the packaged value; None, also for its interval, if there is no
    such ratio."""
    relative_low: float | None = None
    relative_high: float | None = None
    """Upper end of the difference's confidence interval; `relative_low` is the lower end."""
    method: str = ""
    """Method that gave the difference and its interval; empty if there are none."""
    margin: float | None = None
    """Largest difference that still counts as reproduced: a ratio of the packaged value, or a value
    in the unit with `margin_absolute`. None: there is no margin, as when that value is 0."""
    margin_absolute: bool = False
    rounds_needed: int | None = None
    """Number of trials here, compared with the packaged ones, that would decide in 4 of 5 cases.
    None if the metric is decided, if no number would do, or if whole runs are compared."""
    runs_needed: int | None = None
    """Number of runs here that would decide, where whole runs are compared because several were
    packaged or made here; None as for `rounds_needed`."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a replay: the evaluations of all its metrics."""

    evaluations: tuple[Evaluation, ...]
    comparison: Comparison

    @property
    def reproduced(self) -> bool:
        """Whether every metric is reproduced; False if there are no metrics."""
        found = {evaluation.outcome for evaluation in self.evaluations}
        return found == {"reproduced"}

    def counts(self) -> dict[Outcome, int]:
        """Return outcome -> number of metrics, for every outcome."""
        return {o: sum(j.outcome == o for j in self.evaluations) for o in OUTCOMES}

    def rows(self) -> list[dict[str, Any]]:
        """Return the evaluations as values that JSON has."""
        return [
            {**asdict(evaluation), "scenario": dict(evaluation.scenario)}
            for evaluation in self.evaluations
        ]


def judge(comparison: Comparison) -> Verdict:
    """Judge a comparison whose baseline is the packaged run. Metrics that were not measured here
    are undecided too.

    Both claims need evidence: `reproduced` that the difference is within the margin (the row is
    equivalent), `not reproduced` that it is beyond (the whole interval, and a test). Each claim is
    corrected for the number of metrics (Holm): one in twenty of many would be wrong otherwise.
    """
    within = _corrected([row.tost_p for row in comparison.rows])
    beyond = _corrected([row.beyond_p for row in comparison.rows])
    evaluations = [
        _evaluation(row, inside, outside, comparison.options)
        for row, inside, outside in zip(comparison.rows, within, beyond, strict=True)
    ]
    evaluations += [
        Evaluation(u.scenario, u.label, u.metric, "", "undecided", u.reason)
        for u in comparison.unmatched
        if u.side == comparison.baseline.name
    ]
    return Verdict(tuple(evaluations), comparison)


def _corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values by Holm's method; a None (no test) stays in its place and does not count."""
    found = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(found) for p in p_values]


def _evaluation(
    row: Row, within: float | None, beyond: float | None, options: Options
) -> Evaluation:
    """Judge one metric. Of the row, `a` is the packaged run, and `b` the replay. `within`,
    `beyond`: as for `_outcome`."""
    outcome, reason = _outcome(row, within, beyond, options.alpha)
    relative = row.relative
    needed = _needed(row, options) if outcome == "undecided" else None
    if outcome == "undecided" and needed is None:
        packaged, what = f"{row.n_a} packaged trials", "rounds"
        if row.replication is not None:
            packaged, what = count_text(row.replication.a.runs, "packaged run"), "runs"
        reason += (
            f"; beside {packaged}, no number of {what} here would decide if difference and "
            "dispersion are as measured"
        )
    return Evaluation(
        scenario=row.scenario,
        label=row.label,
        metric=row.metric,
        unit=row.unit,
        outcome=outcome,
        reason=reason,
        packaged=row.a.median,
        here=row.b.median,
        n_packaged=row.n_a,
        n_here=row.n_b,
        relative=relative.value if relative else None,
        relative_low=relative.low if relative else None,
        relative_high=relative.high if relative else None,
        method=relative.method if relative else "",
        margin=row.margin,
        margin_absolute=row.margin_absolute,
        rounds_needed=None if row.replication else needed,
        runs_needed=needed if row.replication else None,
    )


def _outcome(
    row: Row, within: float | None, beyond: float | None, alpha: float
) -> tuple[Outcome, str]:
    """Return the outcome of a metric and its reason. `within`, `beyond`: corrected p-values of the
    claims that the difference is within the margin, and beyond it."""
    if row.verdict == "equivalent":
        if at_most(within, alpha):
            return "reproduced", "the difference is within the margin"
        return "undecided", "within the margin, but not after correction for all metrics"
    if row.verdict == "undecided":
        return "undecided", "; ".join(row.warnings) or "too few trials for the dispersion"
    if row.margin is None:
        return "not reproduced", "it differs, and the packaged value is 0: there is no margin"
    estimate = row.difference if row.margin_absolute else row.relative
    if _is_beyond(estimate, row.margin) and at_most(beyond, alpha):
        return "not reproduced", "the difference is beyond the margin"
    return "undecided", "it differs, perhaps by less than the margin"


def _is_beyond(estimate: Estimate | None, margin: float) -> bool:
    """Whether the whole interval of a difference is beyond the margin; False without an
    interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    return estimate.low > margin or estimate.high < -margin


def _needed(row: Row, options: Options) -> int | None:
    """Return how many rounds here would decide an undecided metric, or how many runs where whole
    runs are compared. The number of packaged ones stays as it is. None if no number would, or none
    can be told: with a noise floor, for example, which does not shrink with more rounds."""
    a, b = row.a.values, row.b.values
    least = least_to_see(options.rarest)
    if row.replication is not None:
        a, b = row.replication.a.means, row.replication.b.means
        # `least` counts trials of all runs together (rare modes need many): here it becomes runs.
        least = min(ceil(least / max(1.0, row.replication.b.rounds)), len(a))
    if row.margin is None or min(len(a), len(b)) < 2 or row.floor is not None:
        return None
    scale = scale_of(a, b, row.a.median or 0.0)
    bounds = scale.bounds(row.margin, row.margin_absolute)
    if bounds is None:
        return None
    values, other_values = scale.of(a), scale.of(b)
    return trials_beside(
        values,
        other_values,
        median(other_values) - median(values),
        bounds,
        options.alpha,
        least,
    )
