"""Reads the windows that a data plane prints on its standard output (FlowReporter)."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import FlowWindow

WINDOW_TIMEOUT_S = 10.0
_POLL_S = 0.001


class PrintedWindows:
    """Reads the windows of a process that prints an event `window`, a line of JSON, for each window
    that ends. SIGUSR2 ends one at once; `asked` of its event is then true."""

    def __init__(
        self,
        process: Process,
        output: Path,
        name: str,
        read: Callable[[Mapping[str, Any]], FlowWindow],
    ) -> None:
        """`output`: the file with what the process prints. `name`: what errors call the process.
        `read`: turns an event into a window."""
        self._process = process
        self._output = output
        self._name = name
        self._read = read
        self._read_bytes = 0

    def begin_window(self) -> None:
        """End the open window by SIGUSR2, and discard it and those before it without decoding them.
        Raises MeasurementError."""
        self._end()

    def end_window(self) -> list[FlowWindow]:
        """End the open window by SIGUSR2, and return it and those that ended since the last call of
        either method. Raises MeasurementError."""
        return [self._read(window) for window in self._end()]

    def rest(self) -> list[FlowWindow]:
        """Return the windows of a process that has ended, without those that were returned or
        discarded before."""
        return [self._read(window) for window in self._new()]

    def _end(self) -> list[dict[str, Any]]:
        """End the open window by SIGUSR2, and return its event after those that were not returned
        before. Raises MeasurementError when it does not end."""
        events = self._new()
        # A window of an earlier SIGUSR2, which was waited for in vain, may be among them.
        asked_before = sum(bool(window["asked"]) for window in events)
        self._process.send_signal(signal.SIGUSR2)

        def ended() -> bool:
            events.extend(self._new())
            return sum(bool(window["asked"]) for window in events) > asked_before

        if not retry.until(ended, timeout_s=WINDOW_TIMEOUT_S, period_s=_POLL_S):
            raise MeasurementError(
                f"{self._name} did not end its window within {WINDOW_TIMEOUT_S:g} s",
                where=str(self._output),
            )
        return events

    def _new(self) -> list[dict[str, Any]]:
        """Return the events `window` that were printed since the last call; none before the process
        has printed anything. A line that is not whole yet stays for the next call."""
        try:
            with self._output.open("rb") as file:
                file.seek(self._read_bytes)
                lines = file.read().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        whole = [line for line in lines if line.endswith(b"\n")]
        self._read_bytes += sum(map(len, whole))
        events = [json.loads(line) for line in whole]
        return [event for event in events if event["event"] == "window"]
