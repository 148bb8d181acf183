"""processes: lists the busiest processes of each instance, as top does."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from sfcperf.hosts.procfs import ProcessStat, process_stat
from sfcperf.management.deployment import Deployment
from sfcperf.passive.sampling import INTERVAL, SampleTime, SamplingMonitor
from sfcperf.plugins import integer, object_schema
from sfcperf.results.values import Observation


class ProcessMonitor(SamplingMonitor):
    """CPU cores (mean since the previous sample) and resident memory of the processes of each SF
    and SFF: `process_cpu_cores` and `process_rss_bytes` of the source `INSTANCE/COMMAND[PID]`, with
    the first 15 characters of the command."""

    name = "processes"
    title = "The busiest processes of each SF and SFF"
    cost = (
        "reads one file of /proc per process and interval: on this machine without starting a "
        "process; in a VM with one command, which takes some ten ms of the VM's CPU time"
    )
    parameters = object_schema(
        {
            "interval_s": INTERVAL,
            "top": integer(
                "Number of processes to record per instance and sample: those that used most CPU "
                "time.",
                (1, 100),
                default=5,
            ),
        }
    )

    def begin(self, deployment: Deployment) -> None:
        """Take the meters of the deployment, and forget all processes that were seen before."""
        super().begin(deployment)
        self._known: dict[tuple[str, int, int], ProcessStat] = {}
        """The processes of the last sample, by instance, PID and time of start."""
        self._looks: dict[str, float] = {}
        """Instance -> when its processes were read for the last sample (monotonic clock)."""
        self._last_s = -math.inf
        """When the last sample began (monotonic clock)."""

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Give CPU cores and memory of the `top` processes of each instance with the most CPU time.
        A process that was not there at the previous sample gives nothing. A process is recognised
        by its PID and when it was started, since PIDs are used again."""
        now = time.monotonic()
        if now - self._last_s < self.shortest_s:
            return  # too soon after the last one for rates
        known, self._known = self._known, {}
        looks, self._looks = self._looks, {}
        for instance, meter in self._meters.items():
            look = SampleTime()
            processes = [process_stat(line) for line in meter.processes()]
            self._looks[instance] = moment = look.middle_s()
            elapsed_s = moment - looks.get(instance, -math.inf)
            uses = []
            for process in processes:
                key = (instance, process.pid, process.started)
                self._known[key] = process
                if (before := known.get(key)) is not None:
                    # The least time only avoids a division by 0.
                    cores = (process.cpu_s - before.cpu_s) / max(elapsed_s, 1e-9)
                    source = f"{instance}/{process.command}[{process.pid}]"
                    uses.append((cores, process.rss_bytes, source))
            for cores, rss_bytes, source in sorted(uses, reverse=True)[: self.parameters["top"]]:
                yield Observation(time_ns, source, "process_cpu_cores", "1", cores)
                yield Observation(time_ns, source, "process_rss_bytes", "B", rss_bytes)
        self._last_s = now
