"""One running process of pptmon, from its start until its output is read."""

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
"""How long to wait for an instance to start. The kernel verifies four programs per instance, all
instances start together, and the CPU of a small VM may be an emulated one."""
_STOP_TIMEOUT_S = 5.0
_POLL_S = 0.01
_MOST_SAID = 500


@dataclass(frozen=True)
class InstanceResult:
    """What an instance of pptmon reported until its end."""

    placement: Placement
    events: tuple[Event, ...]
    """All events that it printed, in order."""
    cpu_s: float
    """CPU time of its process. Its BPF programs are not included: they run in the time of those who
    handle the packets."""
    problem: str | None
    """Why its samples should not be believed; None if they can be."""
    clock_offset_ns: int = 0
    """Offset of the Unix clock of its host, by which samples have their times, from ours. It is 0
    for an instance that reports no samples."""


@dataclass(frozen=True)
class Instance:
    """A running process of pptmon on a VNF's host, with its files in the trial's raw folder. The
    order of calls is `start`, `await_ready`, and at last `end_all` for several of them."""

    placement: Placement
    process: Process
    said: Path
    """File of its events, JSON Lines."""
    complaints: Path
    """File of its stderr."""
    clock_offset_ns: int
    """Offset of the host's Unix clock from ours; 0 if this instance reports no samples."""

    @classmethod
    def start(cls, placement: Placement, options: list[str], binary: Path, raw: Path) -> Instance:
        """Start an instance with these options of pptmon; its files are in the folder `raw`. It
        does not work yet; `await_ready` waits for that."""
        output = raw / f"pptmon-{placement.name}.jsonl"
        complaints = raw / f"pptmon-{placement.name}.stderr.txt"
        for path in (output, complaints):
            path.unlink(missing_ok=True)
        # Only samples have times of that clock, and only some instances report samples.
        offset_ns = clock.offset_ns(placement.host) if placement.reports else 0
        argv = [placement.host.program(binary), *options]
        process = placement.host.spawn(argv, stdout=output, stderr=complaints)
        return cls(placement, process, output, complaints, offset_ns)

    def await_ready(self) -> None:
        """Wait until the BPF programs are attached. Raises MeasurementError when the process ends
        instead, or takes too long."""

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
        """Wait for the end of the process, which was told to end, and read its events. `died` is
        its exit status if it had ended by itself before, which is a problem; None otherwise.
        `cpu_s` is its CPU time."""
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
        """Parse the whole lines that the process has printed so far. With `strict`, an incomplete
        last line is an error; without, it is still being written. Raises MeasurementError."""
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
        """Say why the process failed: by its last error event, or else by its stderr."""
        for event in reversed(events):
            if isinstance(event, ErrorEvent):
                return event.error
        with suppress(OSError):
            if text := self.complaints.read_text(errors="replace").strip():
                return text[-_MOST_SAID:]
        return "it does not say why"


def end_all(instances: Sequence[Instance]) -> list[InstanceResult]:
    """Detach instances and read their events. They are told to end in this order, without waiting
    for one before the next. What went wrong with one is the `problem` of its result, and does not
    raise."""
    # Exit status, if it has already ended, and CPU time, which is not known after the end.
    before = [(i.process.poll(), used_cpu_s(i.placement.host, i.process.pid)) for i in instances]
    for instance in instances:
        instance.process.send_signal(signal.SIGTERM)
    return [instance._end(*state) for instance, state in zip(instances, before, strict=True)]


def _status(status: int) -> str:
    """Return an exit status in words; a negative one is a signal."""
    return f"signal {-status}" if status < 0 else f"status {status}"
