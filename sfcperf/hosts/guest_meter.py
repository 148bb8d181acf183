"""GuestMeter: resource use of a machine as its own kernel counts it: a VM, seen from inside."""

from __future__ import annotations

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import USER_HZ, memory_bytes, process_stat

_COMMAND_TIMEOUT_S = 30.0
_BUSY = (0, 1, 2, 5, 6)
"""user, nice, system, irq, softirq of /proc/stat; guests' time is in user's. Not idle and iowait,
nor steal, which the machine did not get."""
_PROCESSES = "cat /proc/[0-9]*/stat 2>/dev/null"


class GuestMeter:
    """A Meter (sfcperf.management.deployment) of a whole machine: everything that it does is the
    instance's, its kernel's work and our own looking included."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def cpu_s(self) -> float:
        """CPU time of all of its CPUs since its boot, seconds, in steps of 10 ms. Raises
        MeasurementError."""
        return busy_cpu_s(self._host.read_text("/proc/stat"))

    def memory_bytes(self) -> int:
        """Memory that could not be given to others now: all but what is available, which caches
        that can be dropped are part of. Raises MeasurementError."""
        total, available = memory_bytes(self._host.read_text("/proc/meminfo"))
        return total - available

    def pids(self) -> list[int]:
        """All of its processes, threads of its kernel included. Raises MeasurementError."""
        return [process_stat(line).pid for line in self.processes()]

    def processes(self) -> list[str]:
        """Their lines of /proc/PID/stat, by one command. Raises MeasurementError."""
        argv = ["sh", "-c", _PROCESSES]
        listed = self._host.run(argv, timeout_s=_COMMAND_TIMEOUT_S, check=False).text
        # A process may have a line break in its name: then none of its lines is whole.
        return [line for line in listed.splitlines() if line[:1].isdigit() and ") " in line]


def busy_cpu_s(stat: str) -> float:
    """CPU time of /proc/stat that was not idle, seconds. Raises MeasurementError."""
    words = next((line.split() for line in stat.splitlines() if line.startswith("cpu ")), [])
    try:
        return sum(int(words[1 + place]) for place in _BUSY) / USER_HZ
    except (IndexError, ValueError) as error:
        raise MeasurementError("/proc/stat does not say how busy the CPUs were") from error
