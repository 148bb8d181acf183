"""cpu: measures how many CPU cores each instance uses."""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.management.deployment import Deployment
from sfcperf.passive.sampling import SampleTime, SamplingMonitor
from sfcperf.results.values import Observation

CPU_CORES = "cpu_cores"


class CpuMonitor(SamplingMonitor):
    """CPU time of each SF and SFF according to its meter (a cgroup, or a VM from inside), as the
    number of cores in use: each `cpu_cores` is the mean since the previous sample."""

    name = "cpu"
    title = "CPU cores used by each SF and SFF"
    cost = (
        "reads one accounting file per instance and interval: on this machine without starting a "
        "process; in a VM with an SSH round trip, which takes some ms of the VM's CPU time"
    )

    def begin(self, deployment: Deployment) -> None:
        """Take the meters of the deployment, and forget all previous samples."""
        super().begin(deployment)
        self._last: dict[str, tuple[float, float]] = {}
        """Instance -> when its meter was read (monotonic clock, seconds), and its CPU time then."""

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Give one observation per instance: the mean of used cores since the previous sample. The
        first call gives none."""
        for instance, meter in self._meters.items():
            look = SampleTime()
            cpu_s = meter.cpu_s()
            now = look.middle_s()
            if instance in self._last:
                then, before_s = self._last[instance]
                if now - then < self.shortest_s:
                    continue  # the next sample's mean includes this time
                cores = (cpu_s - before_s) / (now - then)
                yield Observation(time_ns, instance, CPU_CORES, "1", cores)
            self._last[instance] = (now, cpu_s)
