"""Monitor: passive sensing beside a probe (paper: passive data collection)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Plugin, Requirement, commands
from sfcperf.results.values import Observation


class Monitor(Plugin, ABC):
    """Made once per trial with validated parameters; sees only the deployment and its hosts."""

    name: ClassVar[str]
    cost: ClassVar[str]
    """What running it costs the measured system, in words; what it really used is reported as
    one observation per trial of metric `monitor_cpu_s`, source = the monitor's name."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        # On the class the schema, on the object its values.
        self.parameters = parameters  # type: ignore[misc]

    @classmethod
    @abstractmethod
    def requirements(cls) -> list[Requirement]:
        """Tools that must be installed."""

    @classmethod
    def tools(cls) -> tuple[str, ...]:
        """Commands that it calls on hosts, beyond those of POSIX, so that a driver can carry them
        to a host that lacks them. Binaries of sfcperf's own it carries itself (`Host.program`)."""
        return commands(cls.requirements())

    @abstractmethod
    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Begin to observe; returns when observing. Raises MeasurementError."""

    @abstractmethod
    def stop(self) -> Sequence[Observation]:
        """End and give what was observed, in time order; called even when the probe failed."""
