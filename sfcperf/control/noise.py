"""Noise: what else this machine did while a trial was measured (docs/explanation/noise.md)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from sfcperf import waiting
from sfcperf.control.concurrent_runs import other_runs
from sfcperf.control.noise_proc import (
    CpuTimes,
    Machine,
    ProcessTime,
    cpu_s_between,
    descendants,
)
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment
from sfcperf.results.records import TrialRecord

ROOT = Path("/")
"""Of the files that are read."""
QUIET_SAMPLES = 10
QUIET_INTERVAL_S = 0.005
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


class NoiseWatch:
    """Watches this machine for one run; remembers the evidence of its earlier trials. The
    measurement is not disturbed: the machine is read before and after it."""

    def __init__(self, records: Iterable[TrialRecord] = (), run_id: str = "") -> None:
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
        found = evidence.get("frequency_mhz")
        if found is not None:
            self._frequencies_mhz.append(float(found))


class TrialNoise:
    """Observes one measurement: created before anything of it runs, then `begin` and `end`."""

    def __init__(self, watch: NoiseWatch, machine: Machine, deployment: Deployment) -> None:
        started = time.process_time()
        local = isinstance(deployment.client.host, NamespaceHost)
        self._watch = watch
        self._machine = machine
        self._scope = "machine" if local else "controller"
        self._cpus = cpus_in_use(deployment) if local else usable_cpus()
        self._run_queue = self._quiet()
        self._cost_s = time.process_time() - started

    def begin(self) -> None:
        """The measurement begins."""
        started = time.process_time()
        self._before = self._snapshot()
        self._cost_s += time.process_time() - started

    def end(self) -> dict[str, Any]:
        """The measurement has ended: TrialRecord.noise."""
        started = time.process_time()
        # First: an idle CPU slows down within milliseconds.
        frequency, source = self._machine.frequency_mhz(self._cpus)
        after = self._snapshot()
        reference, drop = self._watch.compared(frequency)
        evidence = {
            "scope": self._scope,
            "cpus": self._cpus,
            "span_s": after.at_s - self._before.at_s,
            **self._steal(after),
            "run_queue": self._run_queue,
            "other_cpu_ratio": self._others(after),
            **self._waiting(after),
            "frequency_mhz": frequency,
            "frequency_reference_mhz": reference,
            "frequency_drop_ratio": drop,
            "frequency_source": source,
            "throttle_events": _difference(self._before.throttled, after.throttled),
        }
        evidence = self._watch.done(_rounded(evidence))
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


def cpus_in_use(deployment: Deployment) -> list[int]:
    """CPUs of this machine that its instances use; all usable ones if the deployment has no `cpus`
    in its facts."""
    given = deployment.facts.get("cpus")
    found = {int(cpu) for cpus in given.values() for cpu in cpus} if given else set()
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
