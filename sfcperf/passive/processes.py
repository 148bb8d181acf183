"""processes: the busiest processes of each instance, as top shows them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.management.deployment import Deployment, Meter
from sfcperf.passive.base import Observation
from sfcperf.passive.sampling import INTERVAL, SamplingMonitor

if TYPE_CHECKING:
    import psutil


class ProcessMonitor(SamplingMonitor):
    """CPU cores (mean since the sample before) and resident memory of the processes that belong to
    an SF or SFF: `process_cpu_cores`, `process_rss_bytes`, source `INSTANCE/COMMAND[PID]`."""

    name = "processes"
    title = "The busiest processes of each SF and SFF"
    cost = "reads two files of /proc per process and interval; no process is started"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "interval_s": INTERVAL,
            "top": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "default": 5,
                "description": "How many processes of each instance are kept at each sample: those "
                "that used most CPU time.",
            },
        },
    }

    def begin(self, deployment: Deployment) -> None:
        """See SamplingMonitor.begin."""
        self._meters: Mapping[str, Meter] = deployment.meters
        self._known: dict[int, _Watched] = {}
        self._last_s = -math.inf

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Two observations per process; none for one that was not there at the sample before."""
        now = time.monotonic()
        if now - self._last_s < self.shortest_s:
            return
        self._last_s = now
        seen: dict[int, _Watched] = {}
        for instance, meter in self._meters.items():
            uses = []
            for pid in meter.pids():
                watched = self._known.get(pid) or _Watched.of(pid)
                if watched is None or (use := watched.use()) is None:
                    continue
                seen[pid] = watched
                if use[0] is not None:
                    uses.append((use[0], use[1], f"{instance}/{watched.command}[{pid}]"))
            for cores, rss_bytes, source in sorted(uses, reverse=True)[: self.parameters["top"]]:
                yield Observation(time_ns, source, "process_cpu_cores", "1", cores)
                yield Observation(time_ns, source, "process_rss_bytes", "B", rss_bytes)
        self._known = seen


class _Watched:
    """A process between two samples."""

    def __init__(self, process: psutil.Process, command: str) -> None:
        self._process = process
        self.command = command
        self._last: tuple[float, float] | None = None

    @classmethod
    def of(cls, pid: int) -> _Watched | None:
        """None when there is no such process any more."""
        import psutil

        try:
            process = psutil.Process(pid)
            return cls(process, process.name())
        except psutil.NoSuchProcess:
            return None

    def use(self) -> tuple[float | None, int] | None:
        """Cores since the last call (None at the first) and resident bytes; None: it has ended, or
        its id belongs to another process by now."""
        import psutil

        try:
            if not self._process.is_running():
                return None
            with self._process.oneshot():
                times, rss_bytes = self._process.cpu_times(), self._process.memory_info().rss
        except psutil.NoSuchProcess:
            return None
        now, cpu_s = time.monotonic(), times.user + times.system
        last, self._last = self._last, (now, cpu_s)
        cores = None if last is None else (cpu_s - last[1]) / max(now - last[0], 1e-9)
        return cores, rss_bytes
