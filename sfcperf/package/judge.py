"""Judge a replay: whether each metric is reproduced (docs/explanation/trust.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sfcperf.analysis.comparison import Comparison, Estimate, Row

Outcome = Literal["reproduced", "not reproduced", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("reproduced", "not reproduced", "undecided")


@dataclass(frozen=True)
class Evaluation:
    """One metric in one scenario."""

    scenario: Mapping[str, Any]
    """Factor -> level."""
    label: str
    """Label of the probe."""
    metric: str
    unit: str
    outcome: Outcome
    reason: str
    packaged: float | None = None
    """Median of the packaged run's trials, in the unit."""
    here: float | None = None
    """Median of the replay's trials."""
    n_packaged: int = 0
    n_here: int = 0
    relative: float | None = None
    """Difference, a ratio of the packaged value."""
    relative_low: float | None = None
    relative_high: float | None = None
    """Its confidence interval."""
    method: str = ""
    """Method of difference and interval; empty if there are none."""
    margin: float | None = None
    """A ratio, or in the unit with `margin_absolute`."""
    margin_absolute: bool = False
    rounds_needed: int | None = None
    """Trials per side that would decide; None if it is decided, or if there would be too many."""


@dataclass(frozen=True)
class Verdict:
    """All metrics of a replay."""

    evaluations: tuple[Evaluation, ...]
    comparison: Comparison

    @property
    def reproduced(self) -> bool:
        """There are metrics, and each is reproduced."""
        found = {evaluation.outcome for evaluation in self.evaluations}
        return found == {"reproduced"}

    def counts(self) -> dict[Outcome, int]:
        """Outcome -> number of metrics, for every outcome."""
        return {o: sum(j.outcome == o for j in self.evaluations) for o in OUTCOMES}

    def rows(self) -> list[dict[str, Any]]:
        """The evaluations in JSON types."""
        return [
            {**asdict(evaluation), "scenario": dict(evaluation.scenario)}
            for evaluation in self.evaluations
        ]


def judge(comparison: Comparison) -> Verdict:
    """Judge a comparison whose baseline is the packaged run. Metrics that were not measured here
    are undecided too."""
    evaluations = [_evaluation(row) for row in comparison.rows]
    evaluations += [
        Evaluation(u.scenario, u.label, u.metric, "", "undecided", u.reason)
        for u in comparison.unmatched
        if u.side == comparison.baseline.name
    ]
    return Verdict(tuple(evaluations), comparison)


def _evaluation(row: Row) -> Evaluation:
    outcome, reason = _outcome(row)
    relative = row.relative
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
        rounds_needed=row.n_needed if outcome == "undecided" else None,
    )


def _outcome(row: Row) -> tuple[Outcome, str]:
    """Both claims need evidence: that the difference is within the margin (equivalence by two
    one-sided tests), or beyond it (the whole interval, and the test)."""
    if row.verdict == "equivalent":
        return "reproduced", "the difference is within the margin"
    if row.verdict == "undecided":
        return "undecided", "; ".join(row.warnings) or "too few trials for the dispersion"
    if row.margin is None:
        return "not reproduced", "it differs, and the packaged value is 0: there is no margin"
    beyond = _beyond(row.difference if row.margin_absolute else row.relative, row.margin)
    if beyond:
        return "not reproduced", "the difference is beyond the margin"
    return "undecided", "it differs, perhaps by less than the margin"


def _beyond(estimate: Estimate | None, margin: float) -> bool:
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    return estimate.low > margin or estimate.high < -margin
