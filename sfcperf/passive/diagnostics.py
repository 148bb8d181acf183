"""diagnostics: reads what the infrastructure says of each instance from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.passive.counts import unit
from sfcperf.passive.sampling import INTERVAL, SampleTime, SamplingMonitor
from sfcperf.plugins import object_schema
from sfcperf.results.values import Observation

PREFIX = "outside_"
_MOST_AT_ONCE = 8
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class _Answer:
    """What the infrastructure answered about one instance."""

    instance: str
    time_ns: int
    """Unix time that the values are of."""
    monotonic_s: float
    """The same moment by the monotonic clock."""
    values: Mapping[str, float]
    """Name -> value. `PART/` precedes the names of values of a part of the instance."""
    problem: MeasurementError | None
    """Why there are no values; None if there are."""
    cpu_s: float
    """CPU time that asking took on this machine."""


class DiagnosticsMonitor(SamplingMonitor):
    """CPU time, memory, disk and network counters of each VM according to its cloud. Nothing is
    installed or runs in the VM.

    The source `INSTANCE` has `outside_memory_bytes`, the increase of each counter since the
    previous sample (`outside_cpu_s`, `outside_disk_read_bytes`, ...), and the rate
    `outside_cpu_cores`. The source `INSTANCE/PORT` has, as the VM sees it, `outside_rx_packets`,
    `outside_tx_bytes`, ... and the rates `outside_rx_pps` (1/s) and `outside_tx_bps` (bit/s). At
    the end come the counts since the start, `outside_cpu_s_total` and so on. Values that the cloud
    does not report are left out.
    """

    name = "diagnostics"
    prefix = PREFIX
    title = "CPU, memory, disk and network of each VM according to the cloud, without an agent"
    cost = (
        "one or two requests to the cloud's API per VM and interval, which take some ms of the "
        "hypervisor's CPU time; nothing in the VMs"
    )
    parameters = object_schema({"interval_s": {**INTERVAL, "minimum": 0.5, "default": 5}})

    def begin(self, deployment: Deployment) -> None:
        """Take the deployment's diagnostics, and make a pool of threads that ask for them. Raises
        MeasurementError when there are none."""
        if not deployment.diagnostics:
            raise MeasurementError(
                "this infrastructure does not report on its instances from outside, which the "
                "monitor `diagnostics` needs",
                hint="the monitors `cpu`, `memory` and `interfaces` look from inside",
            )
        self._sources = deployment.diagnostics
        self._pool = ThreadPoolExecutor(min(_MOST_AT_ONCE, len(self._sources)), "diagnostics")

    def sample(self, time_ns: int) -> Iterator[Observation]:
        """Ask about all instances at once, and give their amounts; from the second call on, also
        what was added to counters, and rates. If answers are missing, the others are given all the
        same; then the first MeasurementError is raised."""
        problems = []
        answers = self._pool.map(_ask, self._sources, self._sources.values())
        for answer in sorted(answers, key=lambda answer: answer.time_ns):
            # The sampler measures its own thread alone; `_ask` runs on those of the pool.
            if self._sampler is not None:
                self._sampler.add_cpu_s(answer.cpu_s)
            if answer.problem is not None:
                problems.append(answer.problem)
            yield from self._observed(answer)
        if problems:
            raise problems[0]

    def stop(self) -> Sequence[Observation]:
        """Take the last sample and give all observations, without waiting for late answers."""
        try:
            return super().stop()
        finally:
            if hasattr(self, "_pool"):  # `begin` has not raised
                self._pool.shutdown(wait=False, cancel_futures=True)

    def _observed(self, answer: _Answer) -> Iterator[Observation]:
        """Give the observations of an answer: amounts as they are, counters by what was added."""
        for key, value in answer.values.items():
            part, _, name = key.rpartition("/")
            source = f"{answer.instance}/{part}" if part else answer.instance
            if _is_amount(name):
                yield Observation(answer.time_ns, source, PREFIX + name, unit(name), value)
            else:
                yield from self._counts.see(answer.time_ns, source, name, value, answer.monotonic_s)


def _ask(instance: str, ask: Callable[[], Mapping[str, float]]) -> _Answer:
    """Ask about one instance. The values are taken to be of the moment in the middle between
    question and answer. A MeasurementError becomes the answer's `problem`."""
    used_s, look = time.thread_time(), SampleTime()
    values: Mapping[str, float] = {}
    problem = None
    try:
        values = ask()
    except MeasurementError as error:
        problem = error
    middle_s = look.middle_s()
    time_ns = time.time_ns() - int((time.monotonic() - middle_s) * _NS_PER_S)
    return _Answer(instance, time_ns, middle_s, values, problem, time.thread_time() - used_s)


def _is_amount(name: str) -> bool:
    """Whether the value of this name is an amount that may rise and fall, and not a counter."""
    return name.startswith("memory_") or name.endswith("_age_s")
