"""Runs a data plane of SFCPerf as a process: says when it is ready, what it counts, what is
wrong."""

from __future__ import annotations

import itertools
import json
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from sfcperf import retry
from sfcperf.dataplane import binaries
from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.hosts.base import Host, Process

START_TIMEOUT_S = 30.0
COUNTERS_TIMEOUT_S = 5.0
_POLL_S = 0.002
_COUNTERS_POLL_S = 0.0002
_starts = itertools.count()


class StatsProcess:
    """A data plane that is a process with a stats file, from `spawn` until `stop`. Subclasses name
    the tool.

    SIGUSR1 makes it write its counters there, a JSON object with the same number in `sequence`
    and `sequence_end`; `{"event": "failed", "error": ...}` is its last word when it cannot work.
    """

    binary: ClassVar[str]
    """Name of the tool."""

    def __init__(self, name: str, host: Host, stats: Path, process: Process) -> None:
        self._name = name
        self._host = host
        self._stats = stats
        self._process = process

    @classmethod
    def command(cls, host: Host) -> list[str]:
        """Return how the tool is called on its host; `spawn` adds options. Raises
        EnvironmentLacks."""
        return [host.program(binaries.find(cls.binary))]

    @classmethod
    def spawn(
        cls, name: str, host: Host, options: Sequence[str], stdout: Path | None = None
    ) -> Self:
        """Start the tool; `wait_ready` says when it works. What it prints goes to the file `stdout`
        (None: nowhere). `name` is the instance's, for messages and files. Raises DeploymentError,
        EnvironmentLacks."""
        # Each process gets a new file: an old one would say that the function is ready.
        stats = host.workdir / f"{name}-{next(_starts)}.stats"
        with errors_as(DeploymentError, MeasurementError, context=name, where=host.name):
            argv = [*cls.command(host), *options, "--stats", str(stats)]
            return cls(name, host, stats, host.spawn(argv, stdout=stdout))

    def wait_ready(self) -> None:
        """Return when packets are forwarded. Raises DeploymentError when they never will be."""

        def decided() -> bool:
            return self._process.poll() is not None or self._event() is not None

        if not retry.until(decided, timeout_s=START_TIMEOUT_S, period_s=_POLL_S):
            raise DeploymentError(
                f"{self._name}: {self.binary} is not ready after {START_TIMEOUT_S:g} s",
                where=self._host.name,
            )
        if (problem := self.problem()) is not None:
            raise DeploymentError(
                f"{self._name}: {problem}",
                where=self._host.name,
                hint=f"run it there by hand to see more: {shlex.join(self._process.argv)}",
            )

    def problem(self) -> str | None:
        """Return why the process has ended or cannot work; None while it runs."""
        event = self._event()
        if event is not None and event["event"] == "failed":
            return str(event["error"])
        status = self._process.poll()
        return None if status is None else f"{self.binary} has ended with status {status}"

    def pids(self) -> tuple[int, ...]:
        """Return the id of the process."""
        return (self._process.pid,)

    def stop(self) -> None:
        """End the process by SIGTERM. Its BPF programs and devices go with it."""
        self._process.stop()

    def fresh(self) -> dict[str, Any]:
        """Return counters that were written after this call, or the last ones of a process that has
        ended.

        Raises MeasurementError.
        """
        before = self._counted()
        self._process.send_signal(signal.SIGUSR1)
        event = None

        def decided() -> bool:
            nonlocal event
            # In this order, so that the last counters of a process that has ended are read.
            ended = self._process.poll() is not None
            event = self._counted()
            return ended or event not in (None, before)

        decision = retry.until(decided, timeout_s=COUNTERS_TIMEOUT_S, period_s=_COUNTERS_POLL_S)
        if event is None or not decision:
            raise MeasurementError(
                f"the counters of {self.binary} cannot be read", where=str(self._stats)
            )
        return event

    def _counted(self) -> dict[str, Any] | None:
        """Return the counters in the stats file; None if it has none, as `_event`."""
        event = self._event()
        return event if event is not None and event["event"] == "counters" else None

    def _event(self) -> dict[str, Any] | None:
        """Return the event in the stats file, `counters` or `failed`; None before there is one, or
        in the midst of a write."""
        try:
            event = json.loads(self._host.read_text(str(self._stats)))
        except (MeasurementError, json.JSONDecodeError):
            return None
        if not isinstance(event, dict) or event.get("event") not in ("counters", "failed"):
            return None
        return event if event.get("sequence") == event.get("sequence_end") else None
