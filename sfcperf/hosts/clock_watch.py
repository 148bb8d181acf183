"""ClockWatch: tells whether this machine's wall clock was set while a run was executed.

SFCPerf takes every duration from the monotonic clock. Some tools (ping, ab, httperf, dnsperf) use
the wall clock, and a step of it is in their numbers. NTP slews both clocks alike (adjtimex(2)), so
their difference changes only when the wall clock is set, or when the machine was suspended.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST_STEP_S = 0.001
"""Steps shorter than this are ignored: they change no number that matters."""
_TRIES = 5
_NS_PER_S = 1e9

Clock = Callable[[], int]
"""Returns nanoseconds."""


class ClockWatch:
    """Compares the wall clock with the monotonic clock. It remembers how far they were apart at its
    last look."""

    def __init__(self, wall_ns: Clock = time.time_ns, monotonic_ns: Clock = time.monotonic_ns):
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._apart_ns, self._doubt_ns = self._apart()

    def step_s(self) -> float:
        """How far the wall clock was set since the last look, seconds: ahead, or (negative) back; 0
        if it was not set."""
        before_ns, doubt_ns = self._apart_ns, self._doubt_ns
        self._apart_ns, self._doubt_ns = self._apart()
        step_ns = self._apart_ns - before_ns
        # Both looks may be off: only what exceeds that as well is a step.
        least_ns = LEAST_STEP_S * _NS_PER_S + doubt_ns + self._doubt_ns
        return step_ns / _NS_PER_S if abs(step_ns) >= least_ns else 0.0

    def _apart(self) -> tuple[int, int]:
        """Return wall clock less monotonic clock, and how far that may be off, ns. The clocks are
        read a few times, and the quickest reading counts: this process may be interrupted within
        one."""
        readings = []
        for _ in range(_TRIES):
            before = self._monotonic_ns()
            wall = self._wall_ns()
            after = self._monotonic_ns()
            readings.append(((after - before) // 2, wall - (before + after) // 2))
        doubt, apart = min(readings)
        return apart, doubt


def step_text(step_s: float) -> str:
    """A step in words, e.g. `set 3600.000 s back`."""
    if step_s < 0:
        return f"set {-step_s:.3f} s back"
    return f"set {step_s:.3f} s ahead (or the machine was suspended)"
