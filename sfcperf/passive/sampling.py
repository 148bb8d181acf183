"""Base of monitors that take a sample every interval_s, and the thread that each of them has."""

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
"""Function that takes one sample. Its argument is the Unix time of the sample in nanoseconds."""

_JOIN_TIMEOUT_S = 10.0


class Sampler:
    """Calls a function every interval_s on a thread of its own and keeps what it gives.

    Sample k is due at start + k * interval_s, however long the samples before it took. A sample
    that is missed is left out, not made up for. If a sample fails, the error is written to
    error_log and counted, and the next sample is taken all the same. The CPU time of all samples is
    measured.
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
        """Take the first sample on the caller's thread, so that what cannot work raises now; then
        start the sampler's own thread."""
        self._error_log.unlink(missing_ok=True)
        with self._metered():
            self._observations.extend(self._sample(time.time_ns()))
        self._thread.start()

    def stop(self) -> list[Observation]:
        """End the thread, take the last sample, and return all observations, with the monitor's own
        CPU time and errors. A sample that does not end within 10 s is left behind, and no last one
        is taken."""
        self._stop.set()
        if self._thread.ident is not None:  # it was started
            self._thread.join(_JOIN_TIMEOUT_S)
        if self._thread.is_alive():
            self._record(f"a sample still runs after {_JOIN_TIMEOUT_S:g} s; it is left behind")
            return [*self._observations, *self._own(time.time_ns())]
        self._take()
        return [*self._observations, *self._own(time.time_ns())]

    def add_cpu_s(self, cpu_s: float) -> None:
        """Count CPU time that another thread used on behalf of this monitor."""
        self._cpu_s += cpu_s

    @contextmanager
    def _metered(self) -> Iterator[None]:
        """Count the CPU time that this thread uses in the block."""
        started_s = time.thread_time()
        try:
            yield
        finally:
            self.add_cpu_s(time.thread_time() - started_s)

    def _run(self) -> None:
        """Take samples until `stop` is called. After each, the next is due at the first multiple of
        interval_s that is still to come; those in between are left out."""
        start = time.monotonic()
        due = start + self._interval_s
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._take()
            passed = (time.monotonic() - start) / self._interval_s
            due = start + (math.floor(passed) + 1) * self._interval_s

    def _take(self) -> None:
        """Take a sample; an error is recorded and does not raise."""
        with self._metered():
            try:
                self._observations.extend(self._sample(time.time_ns()))
            except Exception as error:
                self._record(f"{type(error).__name__}: {error}")

    def _record(self, line: str) -> None:
        """Count an error, and write it to the error log with its Unix time in nanoseconds."""
        self._errors += 1
        # An error that cannot be written, as on a full disk, must not end the sampling.
        with suppress(OSError), self._error_log.open("a", errors="backslashreplace") as file:
            file.write(f"{time.time_ns()} {line}\n")

    def _own(self, time_ns: int) -> list[Observation]:
        """Return the observations about the monitor itself: its CPU time, and errors if any."""
        own = [Observation(time_ns, self._name, "monitor_cpu_s", "s", self._cpu_s)]
        if self._errors:
            own.append(Observation(time_ns, self._name, "monitor_errors", "1", self._errors))
        return own


class SampleTime:
    """The moment of a reading that takes a while, as one of another machine does. Make the object
    before the reading, and call `middle_s` after it."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def middle_s(self) -> float:
        """Return the moment that the reading is taken to be of, by the monotonic clock, seconds. It
        is the middle between the making of this object and now."""
        return (self._began_s + time.monotonic()) / 2


class SamplingMonitor(Monitor):
    """Base of monitors that take a sample every interval_s. A derived class says in `sample` what
    it sees at one moment; this class does the rest. `start` calls `begin` once, then `sample` again
    and again; `stop` calls `sample` a last time, then `totals`."""

    prefix: ClassVar[str] = ""
    """First part of the names of all metrics that are made from counters."""
    parameters = object_schema({"interval_s": INTERVAL})

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._sampler: Sampler | None = None
        """Calls `sample`; None before `start` and after `stop`."""
        self._counts = Counts(self.shortest_s, self.prefix)
        """The counters that derived classes read in `sample`."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require nothing: the monitors read Linux's /proc."""
        return []

    def begin(self, deployment: Deployment) -> None:
        """Take from the deployment what `sample` needs. The default takes the meters of the
        instances, which most monitors need. Raises MeasurementError when it is not there."""
        self._meters: Mapping[str, Meter] = deployment.meters

    @abstractmethod
    def sample(self, time_ns: int) -> Iterable[Observation]:
        """Give what is seen now. `time_ns` is the Unix time of the sample. The first call is at the
        start, when rates cannot be given yet."""

    @property
    def shortest_s(self) -> float:
        """Return the least time over which a rate is given, seconds: half of the interval. The last
        sample may come right after the one before, and the rate of a counter that moves in ticks
        would be nonsense then."""
        return float(self.parameters["interval_s"]) / 2

    def totals(self, time_ns: int) -> list[Observation]:
        """Return what is given once, after the last sample: the counts since the start."""
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
        # There is at least one observation: the monitor's own CPU time.
        return [*observations, *self.totals(observations[-1].time_ns)]
