"""Timeline: where the wall-clock time of a session goes.

A session has parts (run, round, scenario, trial), which nest, and in them phases (deploying,
measuring, ...). Phases nest too, but time counts for the innermost one only. From the timeline
come the seconds per phase in run.json and, if a trace is asked for, its spans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns

from sfcperf.control.faults import describe

OTHER = "other"
"""Name of the phase that is under way when no other is."""

Attribute = str | bool | int | float


@dataclass
class Span:
    """A piece of a session's time with a name: a part or a phase."""

    name: str
    parent: Span | None
    """The part around it; None for the run itself."""
    start_ns: int
    """Start of the span, Unix time, ns."""
    end_ns: int
    """End of the span, Unix time, ns; that of the start until it has ended."""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    error: str = ""
    """Why the part failed; empty if it did not."""


class Timeline:
    """Adds up the time of each phase of a session, which has one timeline from its start on. With
    `keeps_spans` it also keeps each span, for a trace; it does not otherwise, since a run may have
    100,000 of them."""

    def __init__(self) -> None:
        self.keeps_spans = False
        self.spans: list[Span] = []
        """Kept spans in the order of their start, without those of the phase `other`."""
        # Unix time less monotonic time, read once: spans must not jump when the wall clock is set.
        self._clock_ns = time_ns() - monotonic_ns()
        self._parts: list[Span] = []
        """Parts that are under way, the innermost last."""
        self._last_part: Span | None = None
        """The part with `continued` that ended last."""
        self._phases = [OTHER]
        """Names of the phases that are under way, the innermost last."""
        self._phase = self._begin(OTHER)
        """Span of the innermost phase, which is the only one that time counts for."""
        self._ended_ns: Counter[str] = Counter()
        """Phase -> summed duration of its ended spans."""

    @contextmanager
    def part(
        self, name: str, attributes: Mapping[str, Attribute], *, continued: bool = False
    ) -> Iterator[Span]:
        """Open a part of the run inside the innermost one, for as long as the block lasts. An
        exception that leaves the block becomes the part's error. `continued`: if the last such part
        has the same name, it is opened again instead; so one round stays one span, although its
        trial groups run one by one."""
        last = self._last_part if continued else None
        span = last if last is not None and last.name == name else self._begin(name, attributes)
        self._parts.append(span)
        try:
            yield span
        except BaseException as error:
            span.error = describe(error) or type(error).__name__
            raise
        finally:
            span.end_ns = self._now_ns()
            self._parts.pop()
            if continued:
                self._last_part = span

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time spent inside for the phase `name`."""
        self._phases.append(name)
        self._switch()
        try:
            yield
        finally:
            self._phases.pop()
            self._switch()

    def seconds(self) -> dict[str, float]:
        """Phase -> seconds until now; their sum is the age of this object."""
        # The phase that is under way has not been added up yet.
        running = Counter({self._phase.name: self._now_ns() - self._phase.start_ns})
        return {name: round(ns / 1e9, 6) for name, ns in (self._ended_ns + running).items()}

    def _switch(self) -> None:
        """End the span of one phase and begin that of the innermost one."""
        ended, self._phase = self._phase, self._begin(self._phases[-1])
        ended.end_ns = self._phase.start_ns
        self._ended_ns[ended.name] += ended.end_ns - ended.start_ns

    def _begin(self, name: str, attributes: Mapping[str, Attribute] = {}) -> Span:
        """Open a span at this moment, inside the innermost part; keep it if a trace is wanted."""
        now_ns = self._now_ns()
        parent = self._parts[-1] if self._parts else None
        span = Span(name, parent, now_ns, now_ns, dict(attributes))
        if self.keeps_spans and name != OTHER:
            self.spans.append(span)
        return span

    def _now_ns(self) -> int:
        """Unix time, ns, which does not jump."""
        return self._clock_ns + monotonic_ns()
