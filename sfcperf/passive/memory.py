"""memory: memory that each instance holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from sfcperf.management.deployment import Deployment, Meter
from sfcperf.passive.sampling import INTERVAL, SamplingMonitor
from sfcperf.results.values import Observation


class MemoryMonitor(SamplingMonitor):
    """Memory of each SF and SFF as its meter counts it (a cgroup, a VM from inside):
    `memory_bytes`."""

    name = "memory"
    title = "Memory held by each SF and SFF"
    cost = (
        "reads one accounting file per instance and interval, in this machine without starting a "
        "process; in a VM a round trip of SSH, some ms of its CPU time"
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"interval_s": INTERVAL},
    }

    def begin(self, deployment: Deployment) -> None:
        """See SamplingMonitor.begin."""
        self._meters: Mapping[str, Meter] = deployment.meters

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """One observation per instance."""
        for instance, meter in self._meters.items():
            yield Observation(time_ns, instance, "memory_bytes", "B", meter.memory_bytes())
