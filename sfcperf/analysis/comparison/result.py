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
    """Return a ratio as percent with two significant digits: `6.1 %`, `640 %`."""
    return f"{float(f'{100 * ratio:.2g}'):g} %"


@dataclass(frozen=True)
class Sample:
    """The trials of one side that count for one row, by run, then by scenario (if several are
    pooled), then by round. `engine` makes it."""

    trials: tuple[str, ...]
    """Ids of the trials; on a side of several runs with the number of the run, from 1:
    `2/r001-...`."""
    values: tuple[float, ...]
    """A number per trial, in the metric's unit."""
    median: float | None
    mean: float | None
    """Median and mean are in the metric's unit; both are None without a trial."""
    excluded: tuple[str, ...]
    """Ids of trials that do not count: untrusted, failed, without a pair, without a sample of the
    metric, or replaced by a rerun."""
    missing: int = 0
    """Number of rounds (of each scenario) without a trial that counts. If a trial has a valid
    rerun, it is excluded, but its round is not missing."""
    total: int | None = None
    """Packets or requests of all trials, of which the metric is a share; None for other metrics."""
    events: int | None = None
    """How many of the packets or requests the share counts; None for other metrics."""
    runs: tuple[int, ...] = ()
    """The run of each value, from 0; empty for a side of one run."""

    def by_run(self) -> list[list[float]]:
        """Group the values by run, in the order of runs; runs without a value are left out."""
        if not self.runs:
            return [list(self.values)] if self.values else []
        groups: dict[int, list[float]] = {}
        for run, value in zip(self.runs, self.values, strict=True):
            groups.setdefault(run, []).append(value)
        return [groups[run] for run in sorted(groups)]


@dataclass(frozen=True)
class RunDispersion:
    """How the runs of one side differ, and the trials within a run. Standard deviations are ratios
    or in the metric's unit, as `Replication.ratios` says."""

    runs: int
    """Number of runs with at least one trial that counts."""
    rounds: float
    """Trials of a run that count, the harmonic mean over runs."""
    means: tuple[float, ...]
    """Mean of each run, in the metric's unit."""
    between: float | None
    """Standard deviation between runs, without what the scatter of trials adds to it; 0 if the
    trials explain all of it, None for a single run."""
    within: float | None
    """Standard deviation of the trials of a run; None if no run has two."""


@dataclass(frozen=True)
class Effort:
    """A number of runs and rounds that would decide."""

    runs: int
    """Runs per side."""
    rounds: int
    """Rounds per run."""
    seconds: float | None
    """Time that all runs of one side take; None if the cost is not known."""


@dataclass(frozen=True)
class Replication:
    """The dispersions of a row that has several runs on a side, so that the run is the unit of
    replication."""

    ratios: bool
    """Whether dispersions are ratios of the mean; otherwise they are in the metric's unit."""
    a: RunDispersion
    b: RunDispersion
    run_s: float | None
    """Time that a run takes besides its rounds, in seconds; None if it is not known."""
    round_s: float | None
    """Time that a round takes, in seconds; None if it is not known."""
    cheapest: Effort | None
    """The least effort that would decide an undecided row in 4 of 5 cases; None if the row is
    decided, or if no number of runs would decide it."""
    rounds_alone: bool | None
    """Whether more rounds of these runs, without further runs, could have decided the row; None if
    it is decided."""


@dataclass(frozen=True)
class Floor:
    """How far two runs of the same thing differ on this machine, for a row of one run per side."""

    limit: float
    """Two such runs differ by less with the confidence 1 - alpha: a ratio, or in the unit."""
    ratios: bool
    """Whether `limit` and `between` are ratios; otherwise they are in the metric's unit."""
    between: float
    """Standard deviation of the means of the A/A runs."""
    runs: tuple[str, ...]
    """Ids of the A/A runs that show it."""
    reason: str = ""
    """How the noise floor keeps the row undecided although its trials alone would decide it; empty
    if it does not."""


@dataclass(frozen=True)
class Row:
    """One metric in one scenario: the candidate against the baseline."""

    candidate: str
    """Name of the side that is compared with the baseline."""
    scenario: Mapping[str, Any]
    """Factors by which the sides were matched -> level."""
    label: str
    """Label of the probe."""
    metric: str
    unit: str
    better: str
    """Which values of the metric are better: `higher`, `lower` or `none`."""
    primary: bool
    paired: bool
    """Whether trials were compared round by round."""
    a: Sample
    """The baseline's trials."""
    b: Sample
    """The candidate's trials."""
    difference: Estimate | None
    """Candidate minus baseline, in the unit, by the deciding method."""
    relative: Estimate | None
    """Candidate minus baseline as a ratio of the baseline (0.03: 3 % more), by the deciding method;
    None for a baseline of 0, and for too few trials."""
    mean_difference: Estimate | None
    """Difference of the means, in the unit, by Student's t."""
    effect: Estimate | None
    """Effect size from -1 to 1: Cliff's delta, or if paired the matched-pairs rank-biserial
    correlation."""
    hedges_g: Estimate | None
    """Effect size: difference of the means in standard deviations."""
    test: str
    """Name of the deciding test; empty if there are too few trials for any."""
    p: float | None
    p_holm: float | None
    """p after Holm's correction for the number of rows in the family."""
    p_least: float | None
    """The least p that the test can give with so many trials."""
    family: int
    """Rows that p was corrected for; 0 if no outcome could have decided this row."""
    margin: float | None
    """Largest difference that does not matter: a ratio of the baseline, or in the unit with
    `margin_absolute`. None for a baseline of 0 without an absolute margin."""
    margin_absolute: bool
    tost_p: float | None
    """p of the two one-sided tests against the margin: the larger of those of shift and of means.
    The row is equivalent if it is at most alpha and nothing is `withheld`."""
    beyond_p: float | None
    """One-sided p of a shift beyond the margin; it is small if the shift is shown to matter."""
    tost_interval: Estimate | None
    """The interval of `relative` with the confidence 1 - 2 alpha: equivalence needs it, and that of
    the means, within the margin."""
    mean_ratio: Estimate | None
    """Difference of the means as a ratio of the baseline's mean, with the confidence 1 - 2 alpha;
    None for a baseline of 0, and without an interval."""
    withheld: tuple[str, ...]
    """Why the row is not called equivalent although most trials are within the margin."""
    rarest_mode: float
    """Share of trials, a ratio: rarer modes may be missing from the smaller side."""
    verdict: Verdict
    n_needed: int | None
    """Trials per side (paired: rounds; with `replication`: runs of as many rounds) that would
    decide an undecided row in 4 of 5 cases if difference and dispersion were as observed; None if
    unknown or beyond reason."""
    n_needed_for: Purpose
    """What `n_needed` trials would show; empty without them."""
    warnings: tuple[str, ...]
    replication: Replication | None = None
    """Dispersions between and within runs, if a side has several: then the run is the unit of
    replication, not the trial."""
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
    """How many attempts or runs of the baseline crashed."""
    of_a: int
    """How many attempts or runs the baseline made."""
    b: int
    """How many attempts or runs of the candidate crashed."""
    of_b: int
    """How many attempts or runs the candidate made."""
    p: float
    """Two-sided p of Fisher's exact test."""
    p_holm: float
    """p after Holm's correction for the number of candidates tested."""
    verdict: Literal["better", "worse", "undecided"]
    """`worse` if the candidate crashes more often."""


@dataclass(frozen=True)
class RunFacts:
    """Facts about one run of a side. If the side is a variant, only its trials are counted."""

    run_id: str
    started_at: str
    """ISO 8601, UTC."""
    status: str
    """Of the run (RunStatus)."""
    trials: Mapping[str, int]
    """Status of a trial (TrialStatus) -> number of such trials, without warm-up."""
    attempts: AttemptCounts = NO_ATTEMPTS
    """Attempts at trials, warm-up included."""


@dataclass(frozen=True)
class SideFacts:
    """Facts about a side, for readers who have only the document and not the run folders."""

    name: str
    run_id: str
    """Id of the first run."""
    variant: str | None
    """Name of the variant; None if the side is whole runs."""
    workflow: str
    """Name of the workflow."""
    started_at: str
    """Start of the first run."""
    status: str
    """`complete` if every run is, else the status of the first run that is not."""
    trials: Mapping[str, int]
    """Status -> number of trials of all runs."""
    runs: tuple[RunFacts, ...] = ()
    labelled: bool = False
    """Whether the user chose the name."""
    attempts: AttemptCounts = NO_ATTEMPTS
    """Attempts at trials of all runs, warm-up included."""


@dataclass(frozen=True)
class Comparison:
    """The whole comparison. Rows are ordered by candidate, then by scenario, probe and metric as
    the baseline has them."""

    baseline: SideFacts
    candidates: tuple[SideFacts, ...]
    options: Options
    rows: tuple[Row, ...]
    unmatched: tuple[UnmatchedResult, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    """About the comparison as a whole."""
    crashes: tuple[Crashes, ...] = ()
    """One test per candidate, if a function crashed on either side."""

    def counts(self) -> dict[Verdict, int]:
        """Count the rows of each verdict."""
        return {name: sum(row.verdict == name for row in self.rows) for name in VERDICTS}

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON lists and objects (schemas/comparison.schema.json)."""
        values = {"schema_version": SCHEMA_VERSION, "counts": self.counts(), **asdict(self)}
        document: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False, default=plain))
        return document
