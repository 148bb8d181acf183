"""Monitors that take a sample every interval_s, and the one thread behind each."""

from __future__ import annotations

import math
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from sfcperf.management.deployment import Deployment, Meter
from sfcperf.passive.base import Monitor
from sfcperf.passive.counts import Counts
from sfcperf.plugins import Requirement, number, object_schema
from sfcperf.results.values import Observation

INTERVAL: Final[Mapping[str, Any]] = number(
    "Time between two samples, seconds.", (0.01, 3600), default=0.5
)
"""JSON Schema of the parameter `interval_s`."""


SampleFunction = Callable[[int], Iterable[Observation]]
"""Takes the Unix time of the sample in nanoseconds, gives what was seen."""

_JOIN_TIMEOUT_S = 10.0


class Sampler:
    """Calls a function every interval_s on a thread of its own and keeps what it gives.

    Sample k is due at start + k * interval_s whatever the samples before it took; one that is
    missed is left out, not made up for. A sample that fails is written to error_log, and counted;
    the next one is taken all the same. The CPU time of all samples is measured.
    """

    def __init__(
        self, name: str, interval_s: float, sample: SampleFunction, error_log: Path
    ) -> None:
        self._name = name
        self._interval_s = interval_s
        self._sample = sample
        self._error_log = error_log
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"monitor-{name}", daemon=True)
        self._observations: list[Observation] = []
        self._errors = 0
        self._cpu_s = 0.0

    def start(self) -> None:
        """Take the first sample, here, so that what cannot work fails now; then start."""
        self._error_log.unlink(missing_ok=True)
        with self._metered():
            self._observations.extend(self._sample(time.time_ns()))
        self._thread.start()

    def stop(self) -> list[Observation]:
        """Take the last sample, end, and give all observations, with the monitor's own cost."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_TIMEOUT_S)
        if self._thread.is_alive():
            self._record(f"a sample still runs after {_JOIN_TIMEOUT_S:g} s; it is left behind")
            return [*self._observations, *self._own(time.time_ns())]
        self._take()
        return [*self._observations, *self._own(time.time_ns())]

    def add_cpu_s(self, cpu_s: float) -> None:
        """Count CPU time that was used on behalf of this monitor."""
        self._cpu_s += cpu_s

    @contextmanager
    def _metered(self) -> Iterator[None]:
        started_s = time.thread_time()
        try:
            yield
        finally:
            self.add_cpu_s(time.thread_time() - started_s)

    def _run(self) -> None:
        start = time.monotonic()
        due = start + self._interval_s
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._take()
            passed = (time.monotonic() - start) / self._interval_s
            due = start + (math.floor(passed) + 1) * self._interval_s

    def _take(self) -> None:
        with self._metered():
            try:
                self._observations.extend(self._sample(time.time_ns()))
            except Exception as error:
                self._record(f"{type(error).__name__}: {error}")

    def _record(self, line: str) -> None:
        self._errors += 1
        # On a full disk, the next sample is taken all the same.
        with suppress(OSError), self._error_log.open("a", errors="backslashreplace") as file:
            file.write(f"{time.time_ns()} {line}\n")

    def _own(self, time_ns: int) -> list[Observation]:
        own = [Observation(time_ns, self._name, "monitor_cpu_s", "s", self._cpu_s)]
        if self._errors:
            own.append(Observation(time_ns, self._name, "monitor_errors", "1", self._errors))
        return own


class SampleTime:
    """A look at something, which takes a while where it is another machine's."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def middle_s(self) -> float:
        """The moment that what was seen is of, once it is there: that between asking and knowing,
        by the monotonic clock, seconds."""
        return (self._began_s + time.monotonic()) / 2


class SamplingMonitor(Monitor):
    """A monitor that says what it sees at one moment; the rest is here."""

    prefix: ClassVar[str] = ""
    """Of the metrics that are told of counters."""
    parameters = object_schema({"interval_s": INTERVAL})

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._sampler: Sampler | None = None
        self._counts = Counts(self.shortest_s, self.prefix)

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Nothing but Linux's /proc."""
        return []

    def begin(self, deployment: Deployment) -> None:
        """Take what is needed of the deployment: here its meters, which most need. Raises
        MeasurementError when it is not there."""
        self._meters: Mapping[str, Meter] = deployment.meters

    @abstractmethod
    def sample(self, time_ns: int) -> Iterable[Observation]:
        """What is seen now. The first call is at the start, where rates have no interval yet."""

    @property
    def shortest_s(self) -> float:
        """Least time over which a rate is told: the last sample may come right after the one
        before, and counters that move in ticks would give nonsense."""
        return float(self.parameters["interval_s"]) / 2

    def totals(self, time_ns: int) -> list[Observation]:
        """What is said once, after the last sample: counts since the start."""
        return self._counts.totals(time_ns)

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Call `begin`, then take a sample every `interval_s` on a thread. The first sample raises
        when it fails; later ones write to `monitor-NAME-errors.txt` in raw_dir."""
        self.begin(deployment)
        self._sampler = Sampler(
            self.name,
            self.parameters["interval_s"],
            self.sample,
            raw_dir / f"monitor-{self.name}-errors.txt",
        )
        self._sampler.start()

    def stop(self) -> Sequence[Observation]:
        """Take the last sample, and give all observations and then the totals."""
        if self._sampler is None:
            return []
        observations = self._sampler.stop()
        self._sampler = None
        return [*observations, *self.totals(observations[-1].time_ns)]
