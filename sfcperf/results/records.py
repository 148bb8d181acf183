"""The documents of a run folder, as values (schemas/*.schema.json describe their JSON form)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

SCHEMA_VERSION = 1

TrialStatus = Literal["valid", "untrusted", "failed"]
RunStatus = Literal["running", "complete", "interrupted", "failed"]


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
    """Why it is not valid; empty for a valid trial."""
    started_at: str
    """ISO 8601, UTC, microseconds."""
    ended_at: str
    samples: tuple[Mapping[str, Any], ...]
    """Each `{"metric", "unit", "value"}`."""
    attempts: int
    """Number of attempts; 1 unless it failed and was retried."""
    deployment: Mapping[str, Any]
    """id, encapsulation, spi, traversal (`proven`, `method`, file of the evidence), facts."""
    packets: Mapping[str, int] = field(default_factory=dict)
    """By SF: packets that it forwarded during the trial, from its counters."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    """Folder of raw output, relative to the run folder."""
    rerun_of: str = ""
    """Id of the trial outside the noise gate that this one replaces; empty for others."""
    series: Mapping[str, Any] = field(default_factory=dict)
    """Metric -> values behind the trial's number, in order of time, in the metric's unit: the RTT
    of each echo, the rate in each second. For percentiles and steady state, not as samples."""
    noise: Mapping[str, Any] = field(default_factory=dict)
    """Load of the machine during the trial: the noise gate's evidence (sfcperf.control.noise)."""
    duration_s: float | None = None
    """From started_at to ended_at by the monotonic clock; None in folders without this number."""


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
    """None for n < 2."""
    ci_high: float | None
    confidence: float
    method: str
    """Method of the mean's interval: `t (mean)`, or `t (mean, repeated looks)` after sequential
    stopping."""
    valid: bool
    """All planned trials of this scenario and probe are valid, each with a sample of the metric."""
    reasons: tuple[str, ...]
    trials: tuple[str, ...]
    """Ids of the trials that count (valid ones)."""
    excluded: tuple[str, ...]
    """Ids of untrusted and failed trials."""
    better: str
    primary: bool
    stop_reason: str
    """Why no more rounds were run: `planned rounds done`, `half-width 0.031 <= 0.05 after 4
    rounds`, `max_rounds 20 reached at half-width 0.09 (rtt_us of ping)`."""
    median_ci_low: float | None = None
    """Distribution-free interval of the median; None if n is too small for the confidence (n < 6
    at 0.95)."""
    median_ci_high: float | None = None
    median_method: str = "order statistics (median)"
    relative_half_width: float | None = None
    """Half-width of the mean's interval over the mean's magnitude, a ratio; None for n < 2 and
    where the mean is 0 but the values are not."""
    planned: int = 0
    """Planned trials of the row, one per round; 0 in folders without this number."""
    centre: str = "mean"
    """`mean` or `median`, whichever describes the trials best."""
    centre_reason: str = ""
    """Why, in words."""
    normality_p: float | None = None
    """Of the test for normality of the trials; None for fewer than three, or equal ones."""
    normality_method: str = ""
    p5: float | None = None
    """This and the next three: percentiles of the trials; None for too few (n < 19 for p5 and p95,
    n < 3 for p25 and p75)."""
    p25: float | None = None
    p75: float | None = None
    p95: float | None = None
    bca_ci_low: float | None = None
    """BCa bootstrap interval of the mean, if there are enough trials and they are not normal."""
    bca_ci_high: float | None = None
    bca_method: str = ""
    samples_n: int = 0
    """Pooled samples within the valid trials (echoes of ping); 0 if a trial has a single number.
    They are not independent: the percentiles below only describe them."""
    samples_p5: float | None = None
    """This and the next five: percentiles of the pooled samples; None for too few."""
    samples_p25: float | None = None
    samples_p50: float | None = None
    samples_p75: float | None = None
    samples_p95: float | None = None
    samples_p99: float | None = None
    outliers: tuple[str, ...] = ()
    """Ids of trials that are outliers; they are not excluded."""
    outlier_method: str = ""
    """Empty if there were too few trials to look for outliers."""
    autocorrelation: float | None = None
    """Of successive trials (lag 1), from -1 to 1; None if it is undefined."""
    autocorrelation_p: float | None = None
    """One-sided, for positive autocorrelation: that makes intervals too narrow."""
    trend_p: float | None = None
    """Two-sided, of a monotonic trend over the rounds."""
    drift_ratio: float | None = None
    """Median of the last third of the rounds over that of the first, minus 1."""
    steady: str = ""
    """State of the samples within the trials: `steady`, `warm-up`, `never`, or empty for too
    few."""
    steady_p: float | None = None
    """Of a level that changes with the position in the trial."""
    steady_after: int | None = None
    """Warm-up samples at the start of a trial; they are not excluded."""
    warmup_bias_ratio: float | None = None
    """What the warm-up adds to the mean: mean of all over mean of the steady part, minus 1."""
    steady_method: str = ""
    warnings: tuple[str, ...] = ()
    """What a reader must know about these numbers, in sentences."""


def utc_now() -> str:
    """The current time in the form of all records, e.g. `2026-01-31T12:00:00.000000+00:00`."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
