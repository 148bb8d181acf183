"""Monitors that look at something every interval_s share their start and stop."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sfcperf.management.deployment import Deployment
from sfcperf.passive.base import Monitor
from sfcperf.passive.sampler import Sampler
from sfcperf.plugins import Requirement
from sfcperf.results.values import Observation

INTERVAL: Final[Mapping[str, Any]] = {
    "type": "number",
    "minimum": 0.01,
    "maximum": 3600,
    "default": 0.5,
    "description": "Time between two samples, seconds.",
}
"""JSON Schema of the parameter `interval_s`."""


class Look:
    """A look at something, which takes a while where it is another machine's."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def middle_s(self) -> float:
        """The moment that what was seen is of, once it is there: that between asking and knowing,
        by the monotonic clock, seconds."""
        return (self._began_s + time.monotonic()) / 2


class SamplingMonitor(Monitor):
    """A monitor that says what it sees at one moment; the rest is here."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._sampler: Sampler | None = None

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Nothing but Linux's /proc."""
        return []

    @abstractmethod
    def begin(self, deployment: Deployment) -> None:
        """Take what is needed of the deployment; raises MeasurementError when it is not there."""

    @abstractmethod
    def sample(self, time_ns: int) -> Iterable[Observation]:
        """What is seen now. The first call is at the start, where rates have no interval yet."""

    @property
    def shortest_s(self) -> float:
        """Least time over which a rate is told: the last sample may come right after the one
        before, and counters that move in ticks would give nonsense."""
        return float(self.parameters["interval_s"]) / 2

    def totals(self, time_ns: int) -> Iterable[Observation]:
        """What is said once, after the last sample."""
        return ()

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """See Monitor.start."""
        self.begin(deployment)
        self._sampler = Sampler(
            self.name,
            self.parameters["interval_s"],
            self.sample,
            raw_dir / f"monitor-{self.name}-errors.txt",
        )
        self._sampler.start()

    def stop(self) -> Sequence[Observation]:
        """See Monitor.stop."""
        if self._sampler is None:
            return []
        observations = self._sampler.stop()
        self._sampler = None
        return [*observations, *self.totals(observations[-1].time_ns)]
