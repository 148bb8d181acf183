"""The one thread behind the monitors that sample: periodic, without drift, hard to kill."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from sfcperf.results.values import Observation

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
        with _CpuTime(self):
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

    def _run(self) -> None:
        start = time.monotonic()
        due = start + self._interval_s
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._take()
            passed = (time.monotonic() - start) / self._interval_s
            due = start + (math.floor(passed) + 1) * self._interval_s

    def _take(self) -> None:
        with _CpuTime(self):
            try:
                self._observations.extend(self._sample(time.time_ns()))
            except Exception as error:
                self._record(f"{type(error).__name__}: {error}")

    def _record(self, line: str) -> None:
        self._errors += 1
        with self._error_log.open("a") as file:
            file.write(f"{time.time_ns()} {line}\n")

    def _own(self, time_ns: int) -> list[Observation]:
        own = [Observation(time_ns, self._name, "monitor_cpu_s", "s", self._cpu_s)]
        if self._errors:
            own.append(Observation(time_ns, self._name, "monitor_errors", "1", self._errors))
        return own


class _CpuTime:
    """CPU time of this thread between enter and exit."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def __enter__(self) -> None:
        self._start_s = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self._sampler.add_cpu_s(time.thread_time() - self._start_s)
