"""The documents of a run folder, as values (schemas/*.schema.json describe their JSON form)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sfcperf.results.values import Loss

SCHEMA_VERSION = 1

TrialStatus = Literal["valid", "untrusted", "failed"]
RunStatus = Literal["running", "complete", "interrupted", "failed"]
FailureKind = Literal["crash", "deployment", "service", "measurement"]


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt at a trial that gave no result, whether or not a later one did."""

    attempt: int
    """Number of the attempt at this trial, from 1."""
    kind: FailureKind
    """`crash`: a function of the chain did not work any more. `deployment`: the chain could not be
    built or proven, or broke otherwise. `service`: a service of the run had a problem.
    `measurement`: the probe or a monitor failed while the chain worked."""
    reason: str
    """Why the attempt failed, in words."""
    functions: tuple[str, ...]
    """Names of the SFs that had crashed."""
    deployment: str
    """Id of the deployment; empty if there was none."""


@dataclass(frozen=True)
class TrialRecord:
    """One line of trials.jsonl. JSON keys are the attribute names, plus `schema_version`."""

    trial_id: str
    scenario_id: str
    scenario: Mapping[str, Any]
    """Factor -> level."""
    round: int
    probe: str
    """Name of the probe plug-in."""
    label: str
    """The probe's label, unique in the workflow."""
    status: TrialStatus
    reasons: tuple[str, ...]
    """Why the trial is not valid; empty for a valid one."""
    started_at: str
    """ISO 8601, UTC, microseconds."""
    ended_at: str
    samples: tuple[Mapping[str, Any], ...]
    """Each `{"metric", "unit", "value"}`."""
    attempts: int
    """Number of attempts; 1 unless it failed and was retried."""
    deployment: Mapping[str, Any]
    """id, encapsulation, spi, traversal (`proven`, `method`, file of the evidence), facts."""
    packets: Mapping[str, int]
    """SF -> packets that it forwarded during the trial, from its counters."""
    notes: Mapping[str, Any]
    """Further facts that the probe reports (ProbeResult.notes in sfcperf.active.base)."""
    raw: str
    """Folder of raw output, relative to the run folder."""
    rerun_of: str
    """Id of the trial outside the noise gate that this one replaces; empty for others."""
    series: Mapping[str, Any]
    """Metric -> values behind the trial's number, in order of time, in the metric's unit: the RTT
    of each echo, the rate in each second. For percentiles and steady state, not as samples."""
    noise: Mapping[str, Any]
    """Load of the machine during the trial: the noise gate's evidence (sfcperf.control.noise)."""
    duration_s: float
    """Time from `started_at` to `ended_at` by the monotonic clock, which nobody sets."""
    series_step_s: float | None
    """Time from each value of a series to the next; None where steps are not even, or unknown."""
    failed_attempts: tuple[FailedAttempt, ...]
    """Failed attempts at this trial in their order, also if a later attempt was valid."""
    loss: Loss | None
    """What of the measured traffic did not come through; None where the probe does not count
    it."""


@dataclass(frozen=True)
class Estimate:
    """Mean or median of trials with its own interval, in the metric's unit."""

    value: float | None
    """Mean or median; None without a valid trial."""
    low: float | None
    """Lower end of the interval; None without an interval."""
    high: float | None
    method: str
    """Method of the interval; empty without one."""
    withheld: str
    """Why there is no interval; empty if there is one."""

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width; None without an interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True)
class Summary:
    """One row of summary.json: a metric in a scenario. The unit of replication is the trial: the
    samples of one metric within a trial are averaged first, `n` counts trials."""

    scenario: Mapping[str, Any]
    scenario_id: str
    probe: str
    label: str
    metric: str
    unit: str
    n: int
    mean: float | None
    median: float | None
    stdev: float | None
    """Sample standard deviation (n - 1); None for n < 2."""
    min: float | None
    max: float | None
    ci_low: float | None
    """Lower end of the mean's interval; None if it is withheld, for the reason in
    `ci_withheld`."""
    ci_high: float | None
    confidence: float
    method: str
    """Method of the mean's interval; ends in `repeated looks` after sequential stopping. Empty
    without an interval."""
    valid: bool
    """Whether all planned trials of this scenario and probe are valid, each with a sample of the
    metric."""
    reasons: tuple[str, ...]
    """Why the row is not valid; empty for a valid one."""
    trials: tuple[str, ...]
    """Ids of the trials that count (valid ones)."""
    excluded: tuple[str, ...]
    """Ids of untrusted and failed trials."""
    better: str
    """Which values are better: `higher`, `lower` or `none`."""
    primary: bool
    stop_reason: str
    """Why no more rounds were run: `planned rounds done`, `half-width 0.031 <= 0.05 after 4
    rounds`, `max_rounds 20 reached at half-width 0.09 (rtt_us of ping)`."""
    ci_withheld: str
    """Why the mean has no interval, as a clause; empty if it has one."""
    median_ci_low: float | None
    """Lower end of the median's interval; None if it is withheld, for the reason in
    `median_ci_withheld`."""
    median_ci_high: float | None
    median_method: str
    median_ci_withheld: str
    relative_half_width: float | None
    """Half-width of the declared centre's interval over the magnitude of the centre, a ratio; 0 for
    equal trials; None without an interval, and around 0."""
    planned: int
    """Planned trials of the row, one per round."""
    centre: str
    """Which number the workflow declares to describe the trials: `mean` or `median`."""
    p5: float | None
    """This and the next three: percentiles of the trials; None for too few (n < 19 for p5 and p95,
    n < 3 for p25 and p75)."""
    p25: float | None
    p75: float | None
    p95: float | None
    samples_n: int
    """Pooled samples within the valid trials (echoes of ping); 0 if a trial has a single number.
    They are not independent: the percentiles below only describe them."""
    samples_p5: float | None
    """This and the next six: percentiles of the pooled samples; None for too few."""
    samples_p25: float | None
    samples_p50: float | None
    samples_p75: float | None
    samples_p90: float | None
    samples_p95: float | None
    samples_p99: float | None
    typical_p50: float | None
    """This and `typical_p90`, `typical_p99`: the median over the trials of each one's percentile of
    its samples, with an interval over trials; None if a trial has too few samples."""
    typical_p50_ci_low: float | None
    typical_p50_ci_high: float | None
    typical_p90: float | None
    typical_p90_ci_low: float | None
    typical_p90_ci_high: float | None
    typical_p99: float | None
    typical_p99_ci_low: float | None
    typical_p99_ci_high: float | None
    typical_method: str
    """Method of the intervals of `typical_p50` and the like; empty without an interval."""
    typical_ci_withheld: str
    """Which of the intervals of `typical_p50` and the like are missing, and why. Empty if none is,
    or if there are no samples."""
    outliers: tuple[str, ...]
    """Ids of trials that are outliers; they are not excluded."""
    outlier_method: str
    """How outliers were looked for; empty if there were too few trials to look for them."""
    autocorrelation: float | None
    """Autocorrelation of successive trials (lag 1), from -1 to 1; None if it is undefined."""
    autocorrelation_p: float | None
    """One-sided p-value for positive autocorrelation, which makes intervals too narrow."""
    trend_p: float | None
    """Two-sided p-value for a monotonic trend over the rounds."""
    drift_ratio: float | None
    """Median of the last third of the rounds over that of the first, minus 1."""
    steady: str
    """State of the samples within the trials: `steady`, `warm-up`, `never`, or empty for too
    few."""
    steady_p: float | None
    """P-value for a level of the samples that changes with their position in the trial."""
    steady_after: int | None
    """Warm-up samples at the start of a trial; they are not excluded."""
    warmup_bias_ratio: float | None
    """What the warm-up adds to the mean: mean of all over mean of the steady part, minus 1."""
    steady_method: str
    failed_attempts: int
    """Number of failed attempts at all trials of this scenario and probe, also where a later
    attempt was valid."""
    crashes: int
    """Failed attempts in which a function crashed."""
    loss_ratio: float | None
    """Share of traffic that did not come through (`TrialRecord.loss`), over the trials that count.
    None where the probe does not count it."""
    loss_warning: float | None
    """If `loss_ratio` is above this share, readers are warned."""
    warnings: tuple[str, ...]
    """What a reader must know about these numbers, in sentences."""

    @property
    def is_lossy(self) -> bool:
        """Whether readers are warned of what did not come through."""
        if self.loss_ratio is None or self.loss_warning is None:
            return False
        return self.loss_ratio > self.loss_warning

    def estimate(self, centre: str | None = None) -> Estimate:
        """Return `centre` (`mean` or `median`) of the trials with its interval; None: the declared
        centre."""
        if (centre or self.centre) == "mean":
            return Estimate(self.mean, self.ci_low, self.ci_high, self.method, self.ci_withheld)
        return Estimate(
            self.median,
            self.median_ci_low,
            self.median_ci_high,
            self.median_method,
            self.median_ci_withheld,
        )


def utc_now() -> str:
    """Return the current time in the form of all records, such as
    `2026-01-31T12:00:00.000000+00:00`."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
