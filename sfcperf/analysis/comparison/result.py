"""The result of a comparison as values; schemas/comparison.schema.json describes its JSON form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.two_sample import Estimate, Purpose
from sfcperf.results.attempts import NO_ATTEMPTS, AttemptCounts
from sfcperf.results.documents import plain
from sfcperf.results.records import SCHEMA_VERSION

Verdict = Literal["better", "worse", "different", "equivalent", "undecided"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


def percent_text(ratio: float) -> str:
    """`6.1 %`, `640 %`: two digits."""
    return f"{float(f'{100 * ratio:.2g}'):g} %"


@dataclass(frozen=True)
class Sample:
    """The trials of one side that count, in the order of rounds."""

    trials: tuple[str, ...]
    """Ids; of a side of several runs `2/r001-...`, with the number of the run, from 1."""
    values: tuple[float, ...]
    """A number per trial, in the metric's unit."""
    median: float | None
    mean: float | None
    """Both in the metric's unit; None without a trial."""
    excluded: tuple[str, ...]
    """Ids of trials that do not count: untrusted, failed, without a pair, without a sample of the
    metric, or replaced by a rerun."""
    missing: int = 0
    """Rounds (of each scenario) without a trial that counts. A trial with a valid rerun is
    excluded, but its round is not missing."""
    total: int | None = None
    """Packets or requests of all trials, of which the metric is a share; None for other metrics."""
    events: int | None = None
    """How many of them the share counts."""
    runs: tuple[int, ...] = ()
    """The run of each value, from 0; empty for a side of one run."""

    def by_run(self) -> list[list[float]]:
        """The values of each run that has any, in the order of runs."""
        if not self.runs:
            return [list(self.values)] if self.values else []
        groups: dict[int, list[float]] = {}
        for run, value in zip(self.runs, self.values, strict=True):
            groups.setdefault(run, []).append(value)
        return [groups[run] for run in sorted(groups)]


@dataclass(frozen=True)
class RunDispersion:
    """How the runs of a side differ, and the trials within them: standard deviations, ratios or in
    the unit (`Replication.ratios`)."""

    runs: int
    """With at least one trial that counts."""
    rounds: float
    """Trials of a run, the harmonic mean."""
    means: tuple[float, ...]
    """Of the runs, in the metric's unit."""
    between: float | None
    """Of what the runs are about, without what their trials scatter; 0 if they explain all of it.
    None for a single run."""
    within: float | None
    """Of the trials of a run; None if no run has two."""


@dataclass(frozen=True)
class Effort:
    """A number of runs and rounds that would decide."""

    runs: int
    """Per side."""
    rounds: int
    """Per run."""
    seconds: float | None
    """That one side takes; None if the cost is not known."""


@dataclass(frozen=True)
class Replication:
    """The dispersions of a row of several runs, where the run is the unit of replication."""

    ratios: bool
    """Dispersions are ratios of the mean; otherwise in the metric's unit."""
    a: RunDispersion
    b: RunDispersion
    run_s: float | None
    """What a run takes besides its rounds, seconds."""
    round_s: float | None
    """What a round takes, seconds."""
    cheapest: Effort | None
    """The least effort that would decide an undecided row in 4 of 5 cases; None if it is decided,
    or if no number would."""
    rounds_alone: bool | None
    """Whether more rounds of these runs, without further runs, could have decided it; None if it
    is decided."""


@dataclass(frozen=True)
class Floor:
    """What two runs of one thing differ by on this machine, for a row of one run per side."""

    limit: float
    """Two such runs differ by less with the confidence 1 - alpha: a ratio, or in the unit."""
    ratios: bool
    """Whether the numbers are ratios; otherwise they are in the metric's unit."""
    between: float
    """Standard deviation of the means of the A/A runs."""
    runs: tuple[str, ...]
    """Ids of the A/A runs that tell it."""
    reason: str = ""
    """Why the row is undecided although its trials alone would decide it; empty if it is not."""


@dataclass(frozen=True)
class Row:
    """One metric in one scenario: the candidate against the baseline."""

    candidate: str
    """Name of the side that is compared with the baseline."""
    scenario: Mapping[str, Any]
    """Factors by which the sides were matched -> level."""
    label: str
    """Of the probe."""
    metric: str
    unit: str
    better: str
    """higher, lower or none."""
    primary: bool
    paired: bool
    """Whether trials were compared round by round."""
    a: Sample
    """The baseline's trials."""
    b: Sample
    """The candidate's trials."""
    difference: Estimate | None
    """Candidate - baseline, in the unit, by the deciding method."""
    relative: Estimate | None
    """The same as a ratio of the baseline (0.03: 3 % more); None for a baseline of 0."""
    mean_difference: Estimate | None
    """Of the means, in the unit, by Student's t."""
    effect: Estimate | None
    """Cliff's delta, or the matched-pairs rank-biserial correlation: -1 to 1."""
    hedges_g: Estimate | None
    """Difference of the means in standard deviations."""
    test: str
    """Name of the deciding test; empty if there are too few trials for any."""
    p: float | None
    p_holm: float | None
    """Corrected for the number of rows in the family."""
    p_least: float | None
    """The least p that the test can give with so many trials."""
    family: int
    """Rows that p was corrected for; 0 if no outcome could have decided this row."""
    margin: float | None
    """Largest difference that does not matter: a ratio of the baseline, or in the unit with
    `margin_absolute`. None for a baseline of 0 without an absolute margin."""
    margin_absolute: bool
    tost_p: float | None
    """Of the two one-sided tests against the margin, the larger of those of shift and of means;
    equivalent if <= alpha and nothing is `withheld`."""
    beyond_p: float | None
    """One-sided, of a shift beyond the margin; small if it is shown to matter."""
    tost_interval: Estimate | None
    """The interval of `relative` with the confidence 1 - 2 alpha: equivalence needs it, and that of
    the means, within the margin."""
    mean_ratio: Estimate | None
    """The means' difference as a ratio of the baseline's, with the confidence 1 - 2 alpha; None for
    a baseline of 0."""
    withheld: tuple[str, ...]
    """Why the row is not called equivalent although most trials are within the margin."""
    rarest_mode: float
    """Modes that occur in a smaller share of trials may be missing from a side: a ratio."""
    verdict: Verdict
    n_needed: int | None
    """Trials per side (paired: rounds; with `replication`: runs of as many rounds) that would
    decide an undecided row in 4 of 5 cases if difference and dispersion were as observed; None if
    unknown or beyond reason."""
    n_needed_for: Purpose
    """What so many trials would show."""
    warnings: tuple[str, ...]
    replication: Replication | None = None
    """Of a side of several runs: then the run is the unit of replication, not the trial."""
    floor: Floor | None = None
    """The machine's noise floor, if it is known and the row rests on one run per side."""
    lossy: tuple[str, ...] = ()
    """Names of the sides that lost more than the probe's loss_warning: their values describe only
    what was not lost."""

    @property
    def n_a(self) -> int:
        """Trials of the baseline that count."""
        return len(self.a.trials)

    @property
    def n_b(self) -> int:
        """Trials of the candidate that count."""
        return len(self.b.trials)


@dataclass(frozen=True)
class UnmatchedResult:
    """Something that only one side has, or that cannot be compared."""

    side: str
    scenario: Mapping[str, Any]
    label: str
    metric: str
    """Empty if the scenario or the probe as a whole has no counterpart."""
    reason: str


@dataclass(frozen=True)
class Difference:
    """A condition in which a candidate's run differs from the baseline's."""

    candidate: str
    kind: Literal["host", "versions", "infrastructure", "workflow", "variant"]
    name: str
    """Dotted path in run.json or the workflow."""
    baseline: Any
    value: Any
    """The candidate's."""


@dataclass(frozen=True)
class Crashes:
    """How often functions crashed, on a candidate and on the baseline."""

    candidate: str
    """Name of the side that is compared with the baseline."""
    unit: Literal["attempt", "run"]
    """What is counted: attempts at trials (warm-up included); runs, where a side has several."""
    a: int
    """Of the baseline: how many crashed."""
    of_a: int
    """Of how many."""
    b: int
    """Of the candidate."""
    of_b: int
    p: float
    """Of Fisher's exact test, two-sided."""
    p_holm: float
    """Corrected for the number of candidates."""
    verdict: Literal["better", "worse", "undecided"]
    """Worse: the candidate crashes more often."""


@dataclass(frozen=True)
class RunFacts:
    """A run of a side."""

    run_id: str
    started_at: str
    status: str
    trials: Mapping[str, int]
    """Of this side, by status."""
    attempts: AttemptCounts = NO_ATTEMPTS
    """At trials of this side, warm-up included."""


@dataclass(frozen=True)
class SideFacts:
    """A side, for readers who have only the document."""

    name: str
    run_id: str
    """The first run's."""
    variant: str | None
    workflow: str
    """Name of the workflow."""
    started_at: str
    """The first run's."""
    status: str
    """`complete` if every run is."""
    trials: Mapping[str, int]
    """By status, of all runs."""
    runs: tuple[RunFacts, ...] = ()
    labelled: bool = False
    """Whether the user chose the name."""
    attempts: AttemptCounts = NO_ATTEMPTS
    """At trials of all runs, warm-up included."""


@dataclass(frozen=True)
class Comparison:
    """All rows: by candidate, then scenario, probe and metric as the baseline has them."""

    baseline: SideFacts
    candidates: tuple[SideFacts, ...]
    options: Options
    rows: tuple[Row, ...]
    unmatched: tuple[UnmatchedResult, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    """About the comparison as a whole."""
    crashes: tuple[Crashes, ...] = ()
    """Of candidates, where a function crashed on either side."""

    def counts(self) -> dict[Verdict, int]:
        """Number of rows of each verdict."""
        return {name: sum(row.verdict == name for row in self.rows) for name in VERDICTS}

    def document(self) -> dict[str, Any]:
        """The comparison as JSON lists and objects (schemas/comparison.schema.json)."""
        values = {"schema_version": SCHEMA_VERSION, "counts": self.counts(), **asdict(self)}
        document: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False, default=plain))
        return document
