"""A switch that SDN-Mon monitors, by sfc-sdnmon."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

BINARY = "sfc-sdnmon"
_TIMEOUT_S = 60.0
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Window:
    """A part of the time in which the switch was monitored. Entries count packets and bytes by
    window."""

    start_ns: int
    """Unix time in nanoseconds, exact to some milliseconds."""
    end_ns: int


@dataclass(frozen=True)
class Entry:
    """An entry of the monitoring table."""

    flow: Mapping[str, str | int]
    """Match field -> value; fields that the packets do not have are absent."""
    packets: int
    bytes: int
    windows: tuple[tuple[int, int, int], ...]
    """Number of a window, packets and bytes in it. Windows without packets are left out."""


@dataclass(frozen=True)
class Table:
    """What a switch has counted."""

    entries: tuple[Entry, ...]
    windows: tuple[Window, ...]
    """The time before the counter buffers, if there is any, then their slots, the earliest
    first."""


class MonitoredSwitch:
    """Monitors some interfaces by sfc-sdnmon: `on`, `detach`, then `table`, and `off` at the end.
    The state is in a BPF file system; no process runs."""

    def __init__(self, host: Host, state: Path) -> None:
        """`host`: in the network namespace of the ports; `state`: a folder that does not exist yet,
        in a BPF file system."""
        self._host = host
        self._argv = [host.program(binaries.find(BINARY)), "--state", str(state)]
        self._ports: tuple[str, ...] = ()

    def on(self, options: Sequence[str], ports: Sequence[str]) -> None:
        """Start to monitor packets at `ports`. `options` are those of `sfc-sdnmon on`. Raises
        MeasurementError."""
        self._run("on", *options, *ports)
        self._began_ns = time.time_ns()
        self._ports = tuple(ports)

    def status(self) -> dict[str, Any]:
        """Return what `sfc-sdnmon status` prints. Raises MeasurementError."""
        return next(self._lines("status"))

    def detach(self) -> None:
        """Stop counting; the table stays. Raises MeasurementError."""
        self._run("detach", *self._ports)
        self._ended_ns = time.time_ns()

    def table(self) -> Table:
        """Return all entries; call it after `detach`. Raises MeasurementError."""
        lines = self._lines("entries")
        head = next(lines)
        windows = self._windows(head)
        # The windows are the epochs from the oldest on; one for the time before may precede them.
        first = head["oldest_epoch"] - (len(windows) - (head["epoch"] - head["oldest_epoch"] + 1))
        found: list[Entry] = []
        for line in lines:
            if "event" in line:
                if line["entries"] != len(found):
                    raise MeasurementError(f"{BINARY} printed a part of its table alone")
                return Table(tuple(found), windows)
            found.append(_entry(line, first, head["oldest_epoch"]))
        raise MeasurementError(f"{BINARY} stopped while it printed its table")

    def off(self) -> None:
        """Stop monitoring, and remove everything. Harmless when it never began. Raises
        MeasurementError."""
        self._run("off")

    def _windows(self, head: Mapping[str, Any]) -> tuple[Window, ...]:
        """Return a window for each epoch in the counter buffers. If they do not go back to the
        start, a window for the time before comes first. `head` is the first line of `entries`."""
        slot_ns = round(head["interval_ms"] * _NS_PER_MS)
        starts = [
            self._began_ns + (epoch - 1) * slot_ns
            for epoch in range(head["oldest_epoch"], head["epoch"] + 1)
        ]
        if head["oldest_epoch"] > 1:
            starts.insert(0, self._began_ns)
        # The last epoch may have begun after the end; it has no packets then.
        ends = [*starts[1:], max(self._ended_ns, starts[-1])]
        return tuple(Window(*both) for both in zip(starts, ends, strict=True))

    def _lines(self, command: str) -> Iterator[dict[str, Any]]:
        """Run a command, and yield the JSON objects that it prints. Raises MeasurementError."""
        return map(json.loads, self._run(command).splitlines())

    def _run(self, *words: str) -> bytes:
        """Run a command, and return what it prints. Raises MeasurementError with its complaint."""
        done = self._host.run([*self._argv, *words], timeout_s=_TIMEOUT_S, check=False)
        if done.returncode:
            complaint = done.stderr.decode(errors="replace").strip()
            complaint = re.sub(rf"^{BINARY}: ", "", complaint, flags=re.MULTILINE)
            raise MeasurementError(
                f"SDN-Mon on {self._host.name}: {complaint or 'it said nothing'}"
            )
        return done.stdout


def _entry(line: Mapping[str, Any], first: int, oldest: int) -> Entry:
    """Read an entry from a line. `first` is the epoch of the first window. If it is before
    `oldest`, that window gets what the counter buffers no longer hold: the total without the
    slots."""
    windows = [(epoch - first, packets, size) for epoch, packets, size in line["intervals"][::-1]]
    packets = line["packets"] - sum(count for _, count, _ in windows)
    size_bytes = line["bytes"] - sum(size for *_, size in windows)
    if packets and first < oldest:
        windows.insert(0, (0, packets, size_bytes))
    return Entry(line["flow"], line["packets"], line["bytes"], tuple(windows))
