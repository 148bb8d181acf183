"""Metric, Sample, Observation: the values that probes and monitors report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A quantity that a probe reports."""

    name: str
    """Name of the metric, which ends with its unit if it has one: `rtt_us`, `rate_bps`,
    `loss_ratio`."""
    unit: str
    """SI unit: `us`, `bit/s`, `1/s`, `1` for a ratio or a count."""
    description: str
    better: str = "none"
    """Which values are better: `higher`, `lower` or `none`."""
    primary: bool = False
    """Sequential stopping and the short table look at primary metrics."""
    tick: float | None = None
    """Smallest step of a trial's number, in the unit, if the tool rounds it; None if the step does
    not matter or is not known."""
    out_of: str = ""
    """If the metric is a share of packets or requests: name of the trial's note that counts all of
    them. Empty for other metrics."""


@dataclass(frozen=True)
class Sample:
    """One number from a trial."""

    metric: str
    unit: str
    value: float


@dataclass(frozen=True)
class Loss:
    """Packets or requests of a trial that did not come through (sfcperf.active.validity says what
    that makes of the trial)."""

    lost: int
    """How many did not come through."""
    total: int
    """How many were sent."""
    text: str
    """What happened to them: `echo requests got no reply`."""
    effect: str
    """What that means for the other numbers, as a clause: `the round-trip times are those of the
    others`."""
    warning_ratio: float
    """Share above which readers are warned; 1 (never) where the load is meant to cause losses."""
    changes_load: bool = False
    """Whether each loss changes the load that other packets or requests meet, as in a closed
    loop."""

    @property
    def ratio(self) -> float:
        """Share that did not come through."""
        return self.lost / self.total if self.total else 0.0

    @property
    def is_notable(self) -> bool:
        """Whether readers are to be warned of it."""
        return self.ratio > self.warning_ratio


@dataclass(frozen=True)
class Observation:
    """One point of a time series: a row of telemetry.parquet (trial and scenario are added)."""

    time_ns: int
    """Unix time, nanoseconds."""
    source: str
    """Instance or hop, e.g. `fwd-1`, `sff@node1`, `client`."""
    metric: str
    unit: str
    value: float
