"""Probe: an active measurement between the endpoints of a chain (paper: active data collection)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.active.load import LoadGenerator
from sfcperf.dataplane import binaries
from sfcperf.environment.tools import tool
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Configurable, Instrument, Requirement
from sfcperf.results.values import Loss, Metric, Sample


@dataclass(frozen=True)
class ProbeResult:
    """What a probe measured."""

    samples: tuple[Sample, ...]
    untrusted: tuple[str, ...] = ()
    """Why the numbers should not be believed (the sender did not reach its rate, packets were
    lost inside the generator, ...); empty when they can be."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the record (CPU use of the sender, congestion control, ...)."""
    series: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Metric -> the values behind its sample, in order of time and in the metric's unit: each
    echo's RTT, the rate in each second. A tool that reports only a total gives none."""
    series_step_s: float | None = None
    """Time from each value of all series to the next, for values at even steps; None otherwise.
    Each stands for the step that begins with it."""
    loss: Loss | None = None
    """What the chain did not let through, judged by sfcperf.active.validity; None: not counted."""


def samples(metrics: Iterable[Metric], values: Mapping[str, float | None]) -> tuple[Sample, ...]:
    """Return a sample per metric, in the order of `metrics`, in the metric's unit.

    A value of None means that the trial gave no number for this metric (the jitter of a single
    reply): the metric gets no sample. Raises KeyError for a metric that is absent from `values`.
    """
    return tuple(
        Sample(metric.name, metric.unit, float(value))
        for metric in metrics
        if (value := values[metric.name]) is not None
    )


class Probe(Configurable, Instrument):
    """An active measurement. One object makes one trial.

    The order of calls is: `check`, `metrics`, `label`, `duration_s`, `expected_packets`,
    `ip_protocols` and `uses` when a workflow is loaded and planned; then, on one thread, `prepare`,
    `measure` and `cleanup`, which is called also when one of the others raised. Monitors observe
    while `measure` runs.

    `parameters` are validated and complete, units in their names. What the tools print goes
    unparsed to files in `raw_dir`, an existing folder of this trial; a trial that is retried finds
    the files of the attempt before, and replaces them.

    `prepare` and `measure` raise MeasurementError when there is no result; the trial has failed
    then. A result that exists and should not be believed is no error: `ProbeResult.untrusted` says
    why. What the chain loses is a result: it goes to `ProbeResult.loss`
    (`sfcperf.active.validity` has the rule).
    """

    reported: ClassVar[tuple[Metric, ...]]
    """Metrics of the probe, where they are the same for all parameters. Probes whose metrics depend
    on parameters override `metrics` instead."""
    needs: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """Tools of the endpoints: command, its Debian package, and its option that prints a version."""
    compiled: ClassVar[tuple[str, ...]] = ()
    """Compiled tools of SFCPerf that it calls, by name."""
    protocols: ClassVar[frozenset[str]] = frozenset()
    """Protocols of the probe's packets, where they are the same for all parameters. Other probes
    override `ip_protocols`."""
    other_addresses: ClassVar[bool] = False
    """Whether the measured packets have addresses that are not the endpoints'. A driver whose
    classifier matches addresses of its own choice lets it match all."""
    offers: ClassVar[type[LoadGenerator] | None] = None
    """Class that offers loads with the tools of this probe, for a search of the throughput. None:
    the probe cannot offer loads."""

    round: int = 1
    """Number of the trial's round, from 1. Probes need it that do not measure the same in each
    round. It is set before `prepare`. Warm-up rounds have numbers of their own; the round of a
    sentinel may be 0."""

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Return the metrics that `measure` reports with these parameters. A trial may lack a
        sample of a metric."""
        return cls.reported

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """List SFCPerf's tools in `compiled` and the commands in `needs`."""
        return [
            *map(binaries.requirement, cls.compiled),
            *(tool(command, package, [command, option]) for command, package, option in cls.needs),
        ]

    @classmethod
    def label(cls, parameters: Mapping[str, Any]) -> str:
        """Return a short name for tables, e.g. `iperf3-udp`, for a workflow that gives none."""
        return cls.name

    @classmethod
    @abstractmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the expected time of `measure`, seconds, for plans and progress bars."""

    @classmethod
    @abstractmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return a lower bound for the packets that cross the chain in each trial. The counters of
        every SF are checked against it, so it must also hold for a chain that loses packets."""

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the protocols of the measured packets: some of `icmp`, `tcp` and `udp`, or nothing
        if they are not known.

        The loader refuses a probe whose packets the classifier would not send into the chain. If
        the method returns protocols, the parameter `port` is the packets' destination port, which
        the classifier must match. The loader sets a `port` that is absent and has no default to the
        port that the classifier matches, if it matches one, or else to one that a proxy takes.
        """
        return cls.protocols

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start what must be there before the measurement; not part of the measured time."""

    @abstractmethod
    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Measure, and return the result when the measurement has ended."""

    def cleanup(self) -> None:
        """Stop what `prepare` started. A process that has already ended is no error."""
