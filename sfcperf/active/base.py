"""Probe: an active measurement between the endpoints of a chain (paper: active data collection)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Plugin, Requirement, commands
from sfcperf.results.values import Metric, Sample


@dataclass(frozen=True)
class ProbeResult:
    """What a probe brings back."""

    samples: tuple[Sample, ...]
    untrusted: tuple[str, ...] = ()
    """Why the numbers should not be believed (the sender did not reach its rate, packets were
    lost inside the generator, ...); empty when they can be."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the record (CPU use of the sender, congestion control, ...)."""
    series: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Metric -> what its sample was made of, in order of time and in the metric's unit: each
    echo's RTT, the rate in each second. Empty for what a tool tells only as a whole."""


class Probe(Plugin, ABC):
    """Made once per trial with validated parameters; sees only the deployment and its hosts.

    Life cycle: `prepare` (start servers), `measure`, `cleanup` (always called). What the tools
    print goes unparsed to files in `raw_dir`.
    """

    name: ClassVar[str]

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        # On the class the schema, on the object its values.
        self.parameters = parameters  # type: ignore[misc]

    @classmethod
    @abstractmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """What `measure` reports with these parameters."""

    @classmethod
    @abstractmethod
    def requirements(cls) -> list[Requirement]:
        """Tools that must be installed."""

    @classmethod
    def tools(cls) -> tuple[str, ...]:
        """Commands that it calls on hosts, beyond those of POSIX, so that a driver can carry them
        to a host that lacks them. Binaries of sfcperf's own it carries itself (`Host.program`)."""
        return commands(cls.requirements())

    @classmethod
    def label(cls, parameters: Mapping[str, Any]) -> str:
        """Short name for tables when the workflow gives none, e.g. `iperf3-udp`."""
        return cls.name

    @classmethod
    @abstractmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Expected time of `measure`, for plans and progress bars."""

    @classmethod
    @abstractmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """At least so many packets cross the chain in each trial: the control module checks the
        counters of every SF against it."""

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """What the measured packets are, of `icmp`, `tcp` and `udp`; empty: not known.

        The loader refuses a probe whose packets the classifier would not send into the chain. One
        that says its protocols and has a parameter `port` means their destination port by it.
        """
        return frozenset()

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start what must be there before the measurement; not part of the measured time."""

    @abstractmethod
    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Do it. Raises MeasurementError."""

    def cleanup(self) -> None:
        """Stop what `prepare` started; never raises for what has already gone."""
