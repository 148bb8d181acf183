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
    """How the interval of the mean was made: `t (mean)`."""
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
