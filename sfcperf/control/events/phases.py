"""Phases: where the wall-clock time of a run goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from sfcperf.control.events.listener import Listener

OTHER = "other"


class Phases:
    """A stopwatch per phase. Phases nest; time counts for the innermost one only."""

    def __init__(self) -> None:
        self.listener = Listener()
        self._seconds: dict[str, float] = {}
        self._stack = [OTHER]
        self._since = monotonic()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count the time spent inside for `name`."""
        self._charge()
        self._stack.append(name)
        self.listener.phase_started(name)
        try:
            yield
        finally:
            self._charge()
            self._stack.pop()
            self.listener.phase_ended(name)

    def seconds(self) -> dict[str, float]:
        """Phase -> seconds until now; their sum is the age of this object."""
        self._charge()
        return {name: round(seconds, 6) for name, seconds in self._seconds.items()}

    def _charge(self) -> None:
        now = monotonic()
        name = self._stack[-1]
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now
