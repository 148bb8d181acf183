"""Noise: what else this machine did while a trial was measured (docs/explanation/noise.md)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from sfcperf import waiting
from sfcperf.control.noise.concurrent_runs import other_runs
from sfcperf.control.noise.proc import CpuTimes, Machine, ProcessTime, cpu_s_between, descendants
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment
from sfcperf.results.records import TrialRecord

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


class NoiseWatch:
    """Watches this machine for one run, and remembers the CPU frequencies of its earlier trials. It
    reads the machine before and after a measurement, and so does not disturb it.

    `records`: the trials of earlier sessions. `gated`: a noise gate judges the trials, so the CPUs
    are also read under a load of our own.
    """

    def __init__(
        self, records: Iterable[TrialRecord] = (), run_id: str = "", *, gated: bool = False
    ) -> None:
        self.gated = gated
        self._machine = Machine(ROOT)
        self._run_id = run_id
        self._frequencies_mhz: list[float] = []
        for record in records:
            self._remember(record.noise)

    def trial(self, deployment: Deployment) -> TrialNoise:
        """Start to collect evidence for one attempt. Call it before anything of the attempt
        runs."""
        return TrialNoise(self, self._machine, deployment)

    def compared(self, frequency_mhz: float | None) -> tuple[float | None, float | None]:
        """Compare a trial's frequency, MHz, with the run: the median until now, with this trial,
        and how far below it this one is, a ratio. Both are None if the frequency is unknown."""
        if frequency_mhz is None:
            return None, None
        reference = median([*self._frequencies_mhz, frequency_mhz])
        return reference, 1 - frequency_mhz / reference

    def done(self, evidence: Mapping[str, Any]) -> dict[str, Any]:
        """Add to a trial's evidence what only the run as a whole knows, and remember its
        frequency."""
        self._remember(evidence)
        runs = other_runs(self._run_id, evidence["cpus"])
        return {**evidence, "other_runs": runs}

    def _remember(self, evidence: Mapping[str, Any]) -> None:
        """Keep the frequency of a trial, if it is known, for the reference of later trials."""
        found = _judged_frequency(evidence)
        if found is not None:
            self._frequencies_mhz.append(float(found))


class TrialNoise:
    """Collects what the machine does around one measurement. It is created before anything of the
    measurement runs. Then call `begin`, `end`, and `finish` when the probe is gone."""

    def __init__(self, watch: NoiseWatch, machine: Machine, deployment: Deployment) -> None:
        started = time.process_time()
        local = isinstance(deployment.client.host, NamespaceHost)
        self._watch = watch
        self._machine = machine
        # If the hosts are other machines, this one only controls them.
        self._scope = "machine" if local else "controller"
        self._cpus = cpus_in_use(deployment) if local else usable_cpus()
        self._run_queue = self._other_runnable()
        self._loaded = [under_load(machine, self._cpus)] if watch.gated else []
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
        """Complete the evidence when nothing of the measurement runs any more; returns
        TrialRecord.noise."""
        if self._watch.gated:
            waiting.sleep(SETTLE_S)
        started = time.process_time()
        if self._watch.gated:
            self._loaded.append(under_load(self._machine, self._cpus))
        evidence = {**self._during, **quiet_evidence(self._loaded)}
        reference, drop = self._watch.compared(_judged_frequency(evidence))
        evidence = self._watch.done(
            _rounded(
                {
                    "scope": self._scope,
                    "cpus": self._cpus,
                    **evidence,
                    "frequency_reference_mhz": reference,
                    "frequency_drop_ratio": drop,
                }
            )
        )
        cost = self._cost_s + time.process_time() - started
        return {**evidence, "cost_cpu_s": round(cost, 6)}

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


def _judged_frequency(evidence: Mapping[str, Any]) -> float | None:
    """The frequency of a trial that is compared with other trials, MHz; None if it is unknown. It
    is the one under our own load, if that was read: during the measurement, the governor may follow
    what is measured."""
    quiet = evidence.get("quiet_frequency_mhz")
    return evidence.get("frequency_mhz") if quiet is None else quiet


def cpus_in_use(deployment: Deployment) -> list[int]:
    """CPUs of this machine that the instances of the deployment use. These are all usable CPUs if
    the facts of the deployment have no `cpus`."""
    assignment = deployment.facts.get("cpus")
    found = {int(cpu) for cpus in assignment.values() for cpu in cpus} if assignment else set()
    return sorted(found) or usable_cpus()


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


def _rounded(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Round to six decimal places, which is finer than the precision of any of the values."""
    return {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in evidence.items()
    }
