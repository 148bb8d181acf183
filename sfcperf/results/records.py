"""The documents of a run folder, as values (schemas/*.schema.json are their written form)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """How often it was run; 1 unless it failed and was retried."""
    deployment: Mapping[str, Any]
    """id, encapsulation, spi, traversal (`proven`, `method`, file of the evidence), facts."""
    packets: Mapping[str, int] = field(default_factory=dict)
    """By SF: packets that it forwarded during the trial, from its counters."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    """Folder of raw output, relative to the run folder."""
    rerun_of: str = ""
    """Id of the trial outside the noise gate in whose place this one was run; empty for others."""
    series: Mapping[str, Any] = field(default_factory=dict)
    """Metric -> what the trial's number was made of, in order of time, in the metric's unit: each
    echo's RTT, the rate in each second. Described (percentiles, steady state), not counted."""
    noise: Mapping[str, Any] = field(default_factory=dict)
    """What the machine did meanwhile: the noise gate's evidence (sfcperf.control.noise)."""


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
    """How the interval of the mean was made: `t (mean)`, or `t (mean, repeated looks)` after
    sequential stopping."""
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
    """Distribution-free interval of the median; None when n is too small for the confidence
    (n < 6 at 0.95)."""
    median_ci_high: float | None = None
    median_method: str = "order statistics (median)"
    relative_half_width: float | None = None
    """Half-width of the mean's interval over the mean's magnitude, a ratio; None for n < 2 and
    where the mean is 0 but the values are not."""
    planned: int = 0
    """Trials that the row was to have: one per round. 0 in folders that do not say it."""
    centre: str = "mean"
    """Which of the two describes the trials best: `mean` or `median`, each with its interval."""
    centre_reason: str = ""
    """Why this one, in words."""
    normality_p: float | None = None
    """Of the test for normality of the trials; None where there is nothing to test."""
    normality_method: str = ""
    p5: float | None = None
    """This and the next three: percentiles of the trials; None when they are too few for it
    (n < 19 for p5 and p95, n < 3 for p25 and p75)."""
    p25: float | None = None
    p75: float | None = None
    p95: float | None = None
    bca_ci_low: float | None = None
    """BCa bootstrap interval of the mean; given when the trials are not normal and enough."""
    bca_ci_high: float | None = None
    bca_method: str = ""
    samples_n: int = 0
    """Samples within the trials that count (echoes of ping), pooled; 0 when a trial has only its
    one number. They are not independent: the percentiles below describe, nothing is inferred."""
    samples_p5: float | None = None
    """This and the next five: percentiles of the pooled samples; None when they are too few."""
    samples_p25: float | None = None
    samples_p50: float | None = None
    samples_p75: float | None = None
    samples_p95: float | None = None
    samples_p99: float | None = None
    outliers: tuple[str, ...] = ()
    """Ids of trials that are marked as outliers; they count all the same."""
    outlier_method: str = ""
    """Empty when there were too few trials to look for any."""
    autocorrelation: float | None = None
    """Of successive trials (lag 1), from -1 to 1; None when it is undefined."""
    autocorrelation_p: float | None = None
    """One-sided, for positive autocorrelation: that makes intervals too narrow."""
    trend_p: float | None = None
    """Two-sided, of a monotonic trend over the rounds."""
    drift_ratio: float | None = None
    """Median of the last third of the rounds over that of the first, minus 1."""
    steady: str = ""
    """Of the samples within the trials, in order of time: `steady`, `warm-up`, `never`, or empty
    when they are too few to tell."""
    steady_p: float | None = None
    """Of the level within a trial depending on the place in it."""
    steady_after: int | None = None
    """Samples at the start of a trial that belong to its warm-up; they count all the same."""
    warmup_bias_ratio: float | None = None
    """What the warm-up adds to the mean: mean of all over mean of the steady part, minus 1."""
    steady_method: str = ""
    warnings: tuple[str, ...] = ()
    """What a reader must know of these numbers, in sentences."""
