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
"""Of the files that are read."""
QUIET_SAMPLES = 10
QUIET_INTERVAL_S = 0.005
LOAD_S = 0.2
"""How long the CPUs are kept busy for a reading: a CPU that wants no time has none stolen."""
SETTLE_S = 0.1
"""Between the measurement and the reading after it: a period of the kernel's CPU quotas, so that
what the measurement itself used up is not held against it."""
LEAST_LOAD_S = 0.01
"""Per CPU: a clock tick."""
MOST_PROCESSES = 1500
"""With more processes, reading each of them (20 us) is not worth its cost."""


@dataclass(frozen=True)
class _Snapshot:
    """The machine at one moment; counters since boot."""

    at_s: float
    cpu: Mapping[int, CpuTimes]
    pressure_us: int | None
    run_delay_ns: int | None
    throttled: int | None
    processes: Mapping[int, ProcessTime] | None


@dataclass(frozen=True)
class LoadReading:
    """What the CPUs in use did under a load of ours, while nothing was measured."""

    stolen_ticks: int
    wanted_ticks: int
    """Clock ticks that the CPUs were busy or stolen."""
    frequency_mhz: float | None


class NoiseWatch:
    """Watches this machine for one run; remembers the evidence of its earlier trials. The
    measurement is not disturbed: the machine is read before and after it.

    `gated`: a noise gate judges the trials, so the CPUs are also read under a load of our own.
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
        """Evidence for one attempt; call it before anything of the attempt runs."""
        return TrialNoise(self, self._machine, deployment)

    def compared(self, frequency_mhz: float | None) -> tuple[float | None, float | None]:
        """The run's median frequency until now, MHz, and how far below it this one is, a ratio."""
        if frequency_mhz is None:
            return None, None
        reference = median([*self._frequencies_mhz, frequency_mhz])
        return reference, 1 - frequency_mhz / reference

    def done(self, evidence: Mapping[str, Any]) -> dict[str, Any]:
        """The evidence, completed by what only the run as a whole knows."""
        self._remember(evidence)
        runs = other_runs(self._run_id, evidence["cpus"])
        return {**evidence, "other_runs": runs}

    def _remember(self, evidence: Mapping[str, Any]) -> None:
        found = _judged_frequency(evidence)
        if found is not None:
            self._frequencies_mhz.append(float(found))


class TrialNoise:
    """Observes one measurement: created before anything of it runs, then `begin`, `end`, and
    `finish` when the probe is gone."""

    def __init__(self, watch: NoiseWatch, machine: Machine, deployment: Deployment) -> None:
        started = time.process_time()
        local = isinstance(deployment.client.host, NamespaceHost)
        self._watch = watch
        self._machine = machine
        self._scope = "machine" if local else "controller"
        self._cpus = cpus_in_use(deployment) if local else usable_cpus()
        self._run_queue = self._quiet()
        self._loaded = [under_load(machine, self._cpus)] if watch.gated else []
        self._cost_s = time.process_time() - started

    def begin(self) -> None:
        """The measurement begins."""
        started = time.process_time()
        self._before = self._snapshot()
        self._cost_s += time.process_time() - started

    def end(self) -> None:
        """The measurement has ended."""
        started = time.process_time()
        # First: an idle CPU slows down within milliseconds.
        frequency, source = self._machine.frequency_mhz(self._cpus)
        after = self._snapshot()
        self._during = {
            "span_s": after.at_s - self._before.at_s,
            **self._steal(after),
            "run_queue": self._run_queue,
            "other_cpu_ratio": self._others(after),
            **self._waiting(after),
            "frequency_mhz": frequency,
            "frequency_source": source,
            "throttle_events": _difference(self._before.throttled, after.throttled),
        }
        self._cost_s += time.process_time() - started

    def finish(self) -> dict[str, Any]:
        """Nothing of the measurement runs any more: TrialRecord.noise."""
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

    def _quiet(self) -> float | None:
        """Runnable tasks that do not belong to this run, per CPU; the mean of some samples.

        procs_running is the current number: a load average would include the trial before.
        """
        own = descendants(self._machine.processes(MOST_PROCESSES) or {}, os.getpid())
        samples = []
        for _ in range(QUIET_SAMPLES):
            runnable = self._machine.runnable()
            if runnable is None:
                return None
            # This process is running itself.
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
        """Of the CPUs in use and of all; the resolution is a clock tick."""
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

    def _others(self, after: _Snapshot) -> float | None:
        """CPU time of processes that do not belong to this run, as a ratio of the time of all
        CPUs."""
        span = after.at_s - self._before.at_s
        if self._before.processes is None or after.processes is None or span <= 0:
            return None
        own = descendants(self._before.processes, os.getpid())
        own |= descendants(after.processes, os.getpid())
        used = cpu_s_between(self._before.processes, after.processes, own)
        return min(1.0, used / span / max(1, len(after.cpu)))

    def _waiting(self, after: _Snapshot) -> dict[str, float | None]:
        """Time in which tasks, also those of the run, waited for a CPU, as a ratio of elapsed
        time."""
        span = after.at_s - self._before.at_s
        pressure = _difference(self._before.pressure_us, after.pressure_us)
        delay = _difference(self._before.run_delay_ns, after.run_delay_ns)
        return {
            "cpu_pressure_ratio": None if pressure is None else pressure / 1e6 / span,
            "run_delay_ratio": None if delay is None else delay / 1e9 / span,
        }


def under_load(machine: Machine, cpus: Sequence[int]) -> LoadReading:
    """Keep CPUs busy for LOAD_S in all, one after the other, and read them; of many CPUs, some
    that are evenly spread. A CPU on which this process may not run is left out."""
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
    """Of the readings before and after a measurement: steal of the one with more of it, as a ratio
    of the time that was wanted, and the lower frequency. Counters that moved less than a tick per
    reading are None."""
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
    """This thread runs on one CPU meanwhile."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


def _judged_frequency(evidence: Mapping[str, Any]) -> float | None:
    """Under our load if it was read: a governor may make that of the measurement follow what is
    measured."""
    quiet = evidence.get("quiet_frequency_mhz")
    return evidence.get("frequency_mhz") if quiet is None else quiet


def cpus_in_use(deployment: Deployment) -> list[int]:
    """CPUs of this machine that its instances use; all usable ones if the deployment has no `cpus`
    in its facts."""
    assignment = deployment.facts.get("cpus")
    found = {int(cpu) for cpus in assignment.values() for cpu in cpus} if assignment else set()
    return sorted(found) or usable_cpus()


def usable_cpus() -> list[int]:
    """CPUs on which this process may run."""
    return sorted(os.sched_getaffinity(0))


def _steal_ratio(spans: list[CpuTimes]) -> float | None:
    total = sum(span.total for span in spans)
    return sum(span.steal for span in spans) / total if total > 0 else None


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _rounded(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Six decimal places: more than any of the values is precise to."""
    return {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in evidence.items()
    }
