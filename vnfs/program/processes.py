"""The processes of a host, to find those that a program has started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import process_stat

_TIMEOUT_S = 10.0
_LISTING = "cat /proc/[0-9]*/stat"
"""One command for all processes: by SSH each command is a round trip. It fails where a process ends
meanwhile, and prints the others."""


@dataclass(frozen=True)
class Relative:
    """A process, and those to whom it belongs."""

    pid: int
    parent: int
    session: int
    started: int
    """As in ProcessStat: together with the id it names one process."""


def processes(host: Host) -> dict[int, Relative]:
    """Return the processes of a host that have not ended, by id. Raises MeasurementError."""
    listed = host.run(["sh", "-c", _LISTING], timeout_s=_TIMEOUT_S, check=False)
    return {each.pid: each for each in _parsed(listed.text)}


def family(all_processes: dict[int, Relative], pid: int) -> dict[int, Relative]:
    """Return the process `pid`, all of its descendants, and all of its session: children whose
    parent has ended belong to another parent, but stay in the session unless they leave it."""
    found = {each.pid: each for each in all_processes.values() if pid in (each.pid, each.session)}
    while more := {
        each.pid: each
        for each in all_processes.values()
        if each.parent in found and each.pid not in found
    }:
        found |= more
    return found


def _parsed(lines: str) -> Iterator[Relative]:
    """Yield the processes of lines of /proc/PID/stat (proc(5)); what is no such line, because the
    name of a command has a line's end, is left out."""
    for line in lines.splitlines():
        try:
            stat = process_stat(line)
        except MeasurementError:
            continue
        # Behind the command's name: state, parent, process group, session.
        fields = line.rpartition(")")[2].split()
        if stat.state not in ("Z", "X"):
            yield Relative(stat.pid, int(fields[1]), int(fields[3]), stat.started)
