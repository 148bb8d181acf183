"""Noise of one machine around one measurement, collected on that machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from sfcperf import waiting
from sfcperf.control.noise.proc import CpuTimes, Machine, ProcessTime, cpu_s_between, descendants

ROOT = Path("/")
"""Folder below which /proc and /sys are read."""
QUIET_SAMPLES = 10
"""How many times the run queue is looked at before a measurement."""
QUIET_INTERVAL_S = 0.005
LOAD_S = 0.2
"""How long the CPUs are kept busy for a reading under load. An idle CPU wants no time, so none can
be stolen from it: only a busy one shows steal."""
SETTLE_S = 0.1
"""Pause between the measurement and the reading after it. It is a period of the kernel's CPU
quotas, so that the quota that the measurement used up does not count against the machine."""
LEAST_LOAD_S = 0.01
"""Least time under load for each CPU: a clock tick, the step of the steal counter."""
MOST_PROCESSES = 1500
"""With more processes than this, they are not read: each costs 20 us."""


@dataclass(frozen=True)
class _Snapshot:
    """Counters of the machine at one moment, since boot, as `Machine` reads them. None: this
    machine does not have the counter."""

    at_s: float
    """The moment, by the monotonic clock, seconds."""
    cpu: Mapping[int, CpuTimes]
    pressure_us: int | None
    run_delay_ns: int | None
    throttled: int | None
    """How often the CPUs in use were throttled for heat."""
    processes: Mapping[int, ProcessTime] | None
    """None also if there are more than MOST_PROCESSES."""


@dataclass(frozen=True)
class LoadReading:
    """What the CPUs in use did under a load of ours, while nothing was measured."""

    stolen_ticks: int
    wanted_ticks: int
    """Clock ticks in which the CPUs were busy, or stolen."""
    frequency_mhz: float | None
    """Mean frequency of the CPUs; None if it is unknown."""


class MachineNoise:
    """Collects what the machine does on which this object is. It is created before anything of the
    measurement runs. Then call `begin`, `end`, and `finish` when the probe is gone."""

    def __init__(self, cpus: Sequence[int], *, gated: bool) -> None:
        """`cpus`: those in use. `gated`: a noise gate judges the trials, so the CPUs are also read
        under a load of our own."""
        started = time.process_time()
        self._machine = Machine(ROOT)
        self._cpus = list(cpus)
        self._gated = gated
        self._run_queue = self._other_runnable()
        self._loaded = [under_load(self._machine, self._cpus)] if gated else []
        self._cost_s = time.process_time() - started
        """CPU time that this process has used to collect the evidence, seconds."""

    def begin(self) -> None:
        """Take the snapshot at the beginning of the measurement."""
        started = time.process_time()
        self._before = self._snapshot()
        self._cost_s += time.process_time() - started

    def end(self) -> None:
        """Compare the machine at the end of the measurement with the snapshot at its beginning."""
        started = time.process_time()
        # The frequency is read first: an idle CPU slows down within milliseconds.
        frequency, source = self._machine.frequency_mhz(self._cpus)
        after = self._snapshot()
        self._during = {
            "span_s": after.at_s - self._before.at_s,
            **self._steal(after),
            "run_queue": self._run_queue,
            "other_cpu_ratio": self._other_cpu_ratio(after),
            **self._waited_for_cpu(after),
            "frequency_mhz": frequency,
            "frequency_source": source,
            "throttle_events": _difference(self._before.throttled, after.throttled),
        }
        self._cost_s += time.process_time() - started

    def finish(self) -> dict[str, Any]:
        """Return the evidence when nothing of the measurement runs any more: TrialRecord.noise
        without what only the run as a whole knows. `cost_cpu_s` is the CPU time that it took."""
        started = time.process_time()
        if self._gated:
            self._loaded.append(under_load(self._machine, self._cpus))
        evidence = {**self._during, **quiet_evidence(self._loaded)}
        self._cost_s += time.process_time() - started
        return {"cpus": self._cpus, **evidence, "cost_cpu_s": self._cost_s}

    def _other_runnable(self) -> float | None:
        """Number of runnable tasks per CPU that do not belong to this run, as the mean of some
        samples; None if the machine does not tell it.

        It uses procs_running, which is the number at this moment: a load average would still
        include the trial before.
        """
        own = descendants(self._machine.processes(MOST_PROCESSES) or {}, os.getpid())
        samples = []
        for _ in range(QUIET_SAMPLES):
            runnable = self._machine.runnable()
            if runnable is None:
                return None
            # procs_running includes this process, which runs now: at least one task is ours.
            samples.append(max(0, runnable - max(1, self._machine.running_tasks(own))))
            waiting.sleep(QUIET_INTERVAL_S)
        return fmean(samples) / max(1, len(self._machine.cpu_times()))

    def _snapshot(self) -> _Snapshot:
        machine = self._machine
        return _Snapshot(
            at_s=time.monotonic(),
            cpu=machine.cpu_times(),
            pressure_us=machine.cpu_pressure_us(),
            run_delay_ns=machine.run_delay_ns(self._cpus),
            throttled=machine.throttle_events(self._cpus),
            processes=machine.processes(MOST_PROCESSES),
        )

    def _steal(self, after: _Snapshot) -> dict[str, float | None]:
        """Share of time that the hypervisor stole from the CPUs in use and from all CPUs, and how
        busy the former were; all are ratios of these CPUs' time since the beginning, None if no
        tick has passed. The resolution is a clock tick."""
        spans = {
            number: times - self._before.cpu[number]
            for number, times in after.cpu.items()
            if number in self._before.cpu
        }
        used = [spans[number] for number in self._cpus if number in spans]
        ticks = sum(span.total for span in used)
        return {
            "steal_ratio": _steal_ratio(used),
            "steal_ratio_all": _steal_ratio(list(spans.values())),
            "steal_resolution_ratio": 1 / ticks if ticks > 0 else None,
            "busy_ratio": 1 - sum(span.idle for span in used) / ticks if ticks > 0 else None,
        }

    def _other_cpu_ratio(self, after: _Snapshot) -> float | None:
        """CPU time of processes that do not belong to this run, as a ratio of the time of all CPUs;
        None if processes were not read."""
        span = after.at_s - self._before.at_s
        if self._before.processes is None or after.processes is None or span <= 0:
            return None
        own = descendants(self._before.processes, os.getpid())
        own |= descendants(after.processes, os.getpid())
        used = cpu_s_between(self._before.processes, after.processes, own)
        return min(1.0, used / span / max(1, len(after.cpu)))

    def _waited_for_cpu(self, after: _Snapshot) -> dict[str, float | None]:
        """Time in which tasks waited for a CPU, tasks of the run included, as ratios of elapsed
        time; None without the counter."""
        span = after.at_s - self._before.at_s
        pressure = _difference(self._before.pressure_us, after.pressure_us)
        delay = _difference(self._before.run_delay_ns, after.run_delay_ns)
        return {
            "cpu_pressure_ratio": None if pressure is None else pressure / 1e6 / span,
            "run_delay_ratio": None if delay is None else delay / 1e9 / span,
        }


def under_load(machine: Machine, cpus: Sequence[int]) -> LoadReading:
    """Keep CPUs busy, one after the other, for LOAD_S in all, and read them meanwhile. With many
    CPUs, each would get less than LEAST_LOAD_S, so only some that are evenly spread are used. A CPU
    on which this process may not run is left out. With LOAD_S 0, as in tests, none is loaded."""
    chosen = cpus[:: max(1, round(len(cpus) * LEAST_LOAD_S / LOAD_S))] if LOAD_S else ()
    before, loaded, frequencies = machine.cpu_times(), [], []
    for cpu in chosen:
        with suppress(OSError), _pinned(cpu):
            end = time.monotonic() + LOAD_S / len(chosen)
            while time.monotonic() < end:
                pass
            loaded.append(cpu)
            frequencies.append(machine.frequency_mhz([cpu])[0])
    after = machine.cpu_times()
    spans = [after[cpu] - before[cpu] for cpu in loaded if cpu in before and cpu in after]
    known = [frequency for frequency in frequencies if frequency is not None]
    return LoadReading(
        sum(span.steal for span in spans),
        sum(span.total - span.idle for span in spans),
        fmean(known) if known else None,
    )


def quiet_evidence(readings: Sequence[LoadReading]) -> dict[str, float | None]:
    """Judge the readings under load before and after a measurement by the worse of both: the higher
    ratio of stolen to wanted time, and the lower frequency. Steal is None if no reading has a clock
    tick."""
    stolen = [
        (r.stolen_ticks / r.wanted_ticks, 1 / r.wanted_ticks) for r in readings if r.wanted_ticks
    ]
    steal, resolution = max(stolen, default=(None, None))
    frequencies = [
        reading.frequency_mhz for reading in readings if reading.frequency_mhz is not None
    ]
    return {
        "quiet_steal_ratio": steal,
        "quiet_steal_resolution_ratio": resolution,
        "quiet_frequency_mhz": min(frequencies, default=None),
    }


@contextmanager
def _pinned(cpu: int) -> Iterator[None]:
    """Run this thread on one CPU while the block lasts."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


def usable_cpus() -> list[int]:
    """CPUs on which this process may run."""
    return sorted(os.sched_getaffinity(0))


def _steal_ratio(spans: list[CpuTimes]) -> float | None:
    """Stolen time as a ratio of all time in these spans; None if they are empty."""
    total = sum(span.total for span in spans)
    return sum(span.steal for span in spans) / total if total > 0 else None


def _difference(before: int | None, after: int | None) -> int | None:
    """How much a counter grew; None if it was not read both times."""
    return None if before is None or after is None else after - before
