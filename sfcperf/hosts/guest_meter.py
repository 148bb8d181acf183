"""GuestMeter: resource use of a machine, such as a VM, as its own kernel counts it."""

from __future__ import annotations

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import USER_HZ, memory_bytes, process_stat

_COMMAND_TIMEOUT_S = 30.0
_BUSY = (0, 1, 2, 5, 6)
"""Columns of /proc/stat that count as busy: user, nice, system, irq, softirq. Guests' time is part
of user. Idle, iowait and steal are left out; steal is time that the machine did not get."""
_PROCESSES = "cat /proc/[0-9]*/stat 2>/dev/null"


class GuestMeter:
    """A Meter (sfcperf.management.deployment) of a whole machine. All that the machine does counts
    for the instance, including its kernel's work and our own readings."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def cpu_s(self) -> float:
        """CPU time that all of its CPUs spent since its boot, seconds, in steps of 10 ms. Raises
        MeasurementError."""
        return busy_cpu_s(self._host.read_text("/proc/stat"))

    def memory_bytes(self) -> int:
        """Memory in use: total less available memory. Caches that can be dropped count as
        available. Raises MeasurementError."""
        total, available = memory_bytes(self._host.read_text("/proc/meminfo"))
        return total - available

    def pids(self) -> list[int]:
        """Ids of all its processes, threads of its kernel included. Raises MeasurementError."""
        return [process_stat(line).pid for line in self.processes()]

    def processes(self) -> list[str]:
        """Lines of /proc/PID/stat of all its processes, read by one command. Raises
        MeasurementError."""
        argv = ["sh", "-c", _PROCESSES]
        listed = self._host.run(argv, timeout_s=_COMMAND_TIMEOUT_S, check=False).text
        # A process may have a line break in its name. Then none of its lines is whole, and none is
        # returned.
        return [line for line in listed.splitlines() if line[:1].isdigit() and ") " in line]


def busy_cpu_s(stat: str) -> float:
    """CPU time that was not idle, seconds, from /proc/stat. Raises MeasurementError."""
    words = next((line.split() for line in stat.splitlines() if line.startswith("cpu ")), [])
    try:
        return sum(int(words[1 + place]) for place in _BUSY) / USER_HZ
    except (IndexError, ValueError) as error:
        raise MeasurementError("/proc/stat does not say how busy the CPUs were") from error
