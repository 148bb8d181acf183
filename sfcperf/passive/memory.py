"""memory: measures how much memory each instance holds."""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.passive.sampling import SamplingMonitor
from sfcperf.results.values import Observation


class MemoryMonitor(SamplingMonitor):
    """Memory of each SF and SFF according to its meter (a cgroup, or a VM from inside):
    `memory_bytes`."""

    name = "memory"
    title = "Memory used by each SF and SFF"
    cost = (
        "reads one accounting file per instance and interval: on this machine without starting a "
        "process; in a VM with an SSH round trip, which takes some ms of the VM's CPU time"
    )

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Give one observation per instance: the memory that it holds now."""
        for instance, meter in self._meters.items():
            yield Observation(time_ns, instance, "memory_bytes", "B", meter.memory_bytes())
