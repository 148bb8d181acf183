"""One running pptmon: from its start until what it said is read."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfcperf.dataplane.pptmon.events import ErrorEvent, Event, EventError, ReadyEvent, parse
from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock
from sfcperf.hosts.base import Process
from sfcperf.hosts.procfs import used_cpu_s
from sfcperf.passive.pptmon_placement import Placement

_START_TIMEOUT_S = 60.0
"""The verifier looks at four programs per instance, and instances start together; a small VM's
CPU may be an emulated one."""
_STOP_TIMEOUT_S = 5.0
_POLL_S = 0.01
_MOST_SAID = 500


@dataclass(frozen=True)
class InstanceResult:
    """What an instance left."""

    placement: Placement
    events: tuple[Event, ...]
    cpu_s: float
    """CPU time of its process; that of its BPF programs is the packets'."""
    problem: str | None
    """Why its samples should not be believed."""
    clock_offset_ns: int = 0
    """Of its host's Unix clock, in which samples are told, from ours; 0 of one that tells none."""


@dataclass(frozen=True)
class Instance:
    """A process on a VNF's host, with its files in the trial's raw folder."""

    placement: Placement
    process: Process
    said: Path
    """JSON Lines."""
    complaints: Path
    """stderr."""
    clock_offset_ns: int
    """Of the host's Unix clock from ours; 0 if this instance reports no samples."""

    @classmethod
    def start(cls, placement: Placement, options: list[str], binary: Path, raw: Path) -> Instance:
        """Start it; `await_ready` says when it works."""
        output = raw / f"pptmon-{placement.name}.jsonl"
        complaints = raw / f"pptmon-{placement.name}.stderr.txt"
        for path in (output, complaints):
            path.unlink(missing_ok=True)
        offset_ns = clock.offset_ns(placement.host) if placement.reports else 0
        argv = [placement.host.program(binary), *options]
        process = placement.host.spawn(argv, stdout=output, stderr=complaints)
        return cls(placement, process, output, complaints, offset_ns)

    def await_ready(self) -> None:
        """Return when its programs are attached. Raises MeasurementError when they never will."""

        def ready() -> bool:
            return any(isinstance(event, ReadyEvent) for event in self._events())

        if not self.process.becomes(ready, timeout_s=_START_TIMEOUT_S, period_s=_POLL_S):
            why = self._why(self._events())
            raise MeasurementError(
                f"pptmon does not start at {self.placement.function.name}: {why}",
                where=self.placement.host.name,
                hint="`pptmon --check`, run there, says what its kernel lacks",
            )

    def _end(self, died: int | None, cpu_s: float) -> InstanceResult:
        """Wait for its end and read what it said. `died`: its status, if it had ended before."""
        status = self.process.stop(_STOP_TIMEOUT_S)
        problem: str | None = None
        events: tuple[Event, ...] = ()
        try:
            events = self._events(strict=True)
        except MeasurementError as error:
            problem = error.message
        if died is not None:
            problem = f"it ended by itself, with {_status(died)}: {self._why(events)}"
        elif status != 0:
            problem = f"it failed as it ended, with {_status(status)}: {self._why(events)}"
        return InstanceResult(self.placement, events, cpu_s, problem, self.clock_offset_ns)

    def _events(self, *, strict: bool = False) -> tuple[Event, ...]:
        """Whole lines so far; with `strict`, what is none is an error."""
        try:
            lines = self.said.read_text(errors="replace").splitlines(keepends=True)
        except FileNotFoundError:
            return ()
        whole = [line for line in lines if line.endswith("\n")]
        try:
            events = tuple(parse(line) for line in whole)
        except EventError as error:
            raise MeasurementError(str(error), where=str(self.said)) from error
        if strict and len(whole) != len(lines):
            raise MeasurementError("its last line is incomplete", where=str(self.said))
        return events

    def _why(self, events: tuple[Event, ...]) -> str:
        for event in reversed(events):
            if isinstance(event, ErrorEvent):
                return event.error
        with suppress(OSError):
            if text := self.complaints.read_text(errors="replace").strip():
                return text[-_MOST_SAID:]
        return "it does not say why"


def end_all(instances: Sequence[Instance]) -> list[InstanceResult]:
    """Detach them, in this order but without waiting for each, and read what they said; never
    raises for what went wrong with one."""
    before = [(i.process.poll(), used_cpu_s(i.placement.host, i.process.pid)) for i in instances]
    for instance in instances:
        instance.process.send_signal(signal.SIGTERM)
    return [instance._end(*state) for instance, state in zip(instances, before, strict=True)]


def _status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
