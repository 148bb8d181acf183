"""One running pptmon: from its start until what it said is read."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.passive.pptmon_placement import Placement
from sfcperf.passive.proc import process_cpu_s
from sfcperf.vnfs.pptmon.events import Event, EventError, Failed, Ready, parse

_START_TIMEOUT_S = 15.0
"""The verifier looks at four programs per instance, and instances start together."""
_STOP_TIMEOUT_S = 5.0
_POLL_S = 0.01
_MOST_SAID = 500


@dataclass(frozen=True)
class Ended:
    """What an instance left."""

    placement: Placement
    events: tuple[Event, ...]
    cpu_s: float
    """CPU time of its process; that of its BPF programs is the packets'."""
    problem: str | None
    """Why its samples should not be believed."""


@dataclass(frozen=True)
class Instance:
    """A process on a VNF's host, with its files in the trial's raw folder."""

    placement: Placement
    process: Process
    said: Path
    """JSON Lines."""
    complaints: Path
    """stderr."""

    @classmethod
    def start(cls, placement: Placement, options: list[str], binary: str, raw: Path) -> Instance:
        """Start it; `await_ready` says when it works."""
        said = raw / f"pptmon-{placement.name}.jsonl"
        complaints = raw / f"pptmon-{placement.name}.stderr.txt"
        for path in (said, complaints):
            path.unlink(missing_ok=True)
        process = placement.host.spawn([binary, *options], stdout=said, stderr=complaints)
        return cls(placement, process, said, complaints)

    def await_ready(self) -> None:
        """Return when its programs are attached. Raises MeasurementError when they never will."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            ended = self.process.poll() is not None
            events = self._events()
            if any(isinstance(event, Ready) for event in events):
                return
            if ended or time.monotonic() > deadline:
                raise MeasurementError(
                    f"pptmon does not start at {self.placement.function.name}: {self._why(events)}",
                    where=self.placement.host.name,
                    hint="`sfcperf doctor` says what this kernel lacks",
                )
            time.sleep(_POLL_S)

    def _end(self, died: int | None, cpu_s: float) -> Ended:
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
            problem = f"it did not end well, with {_status(status)}: {self._why(events)}"
        return Ended(self.placement, events, cpu_s, problem)

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
            raise MeasurementError("its last line is not whole", where=str(self.said))
        return events

    def _why(self, events: tuple[Event, ...]) -> str:
        for event in reversed(events):
            if isinstance(event, Failed):
                return event.error
        with suppress(OSError):
            if text := self.complaints.read_text(errors="replace").strip():
                return text[-_MOST_SAID:]
        return "it does not say why"

    def _cpu_s(self) -> float:
        """0 when its host does not know it any more: asked for before it is waited for."""
        with suppress(MeasurementError):
            stat = self.placement.host.read_text(f"/proc/{self.process.pid}/stat")
            return process_cpu_s(stat)
        return 0.0


def end_all(instances: Sequence[Instance]) -> list[Ended]:
    """Detach them, in this order but without waiting for each, and read what they said; never
    raises for what went wrong with one."""
    before = [(instance.process.poll(), instance._cpu_s()) for instance in instances]
    for instance in instances:
        instance.process.send_signal(signal.SIGTERM)
    return [instance._end(*state) for instance, state in zip(instances, before, strict=True)]


def _status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
