"""Reads from /proc and /sys how the CPUs are used (proc(5)). None means: not available here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfcperf.hosts.procfs import USER_HZ

_STEAL = 7
"""Columns of a cpu line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. Later
columns (guest, guest_nice) are already part of user and nice."""
_IDLE = (3, 4)
"""Columns that count as idle: idle and iowait."""
_RUN_DELAY = 7
"""Column of a cpu line of /proc/schedstat: time that tasks waited for the CPU, ns (version 15 and
later; Documentation/scheduler/sched-stats.rst)."""


@dataclass(frozen=True)
class CpuTimes:
    """Time that one CPU has spent since boot, in clock ticks."""

    total: int
    """All its time, idle and stolen time included."""
    idle: int
    steal: int
    """Time that the hypervisor gave to another guest although this one wanted it."""

    def __sub__(self, earlier: CpuTimes) -> CpuTimes:
        return CpuTimes(
            self.total - earlier.total, self.idle - earlier.idle, self.steal - earlier.steal
        )


@dataclass(frozen=True)
class ProcessTime:
    """CPU time that one process has used since its start, in clock ticks, including its children
    that it waited for."""

    started: int
    """Clock ticks after boot. It tells a process from an earlier one that had the same id."""
    parent: int
    ticks: int


class Machine:
    """Reads the files of the running machine, or of a copy of its /proc and /sys below `root`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = root / "proc"
        self._cpus = root / "sys/devices/system/cpu"

    def cpu_times(self) -> dict[int, CpuTimes]:
        """CPU number -> its times; empty if /proc/stat cannot be read."""
        return cpu_times(_text(self._proc / "stat") or "")

    def runnable(self) -> int | None:
        """Number of runnable tasks on all CPUs, including the caller; None if /proc/stat does not
        say it."""
        for line in (_text(self._proc / "stat") or "").splitlines():
            if line.startswith("procs_running "):
                return int(line.split()[1])
        return None

    def cpu_pressure_us(self) -> int | None:
        """Time in which at least one task waited for a CPU, since boot, microseconds (psi.rst);
        None without PSI."""
        for line in (_text(self._proc / "pressure/cpu") or "").splitlines():
            if line.startswith("some "):
                with suppress(ValueError):
                    return int(line.rpartition("total=")[2])
        return None

    def run_delay_ns(self, cpus: Iterable[int]) -> int | None:
        """Time that tasks waited for one of these CPUs, summed, since boot, ns; None without
        /proc/schedstat."""
        names = {f"cpu{number}" for number in cpus}
        found = None
        for line in (_text(self._proc / "schedstat") or "").splitlines():
            name, *columns = line.split() or [""]
            if name in names and len(columns) > _RUN_DELAY:
                found = (found or 0) + int(columns[_RUN_DELAY])
        return found

    def frequency_mhz(self, cpus: Iterable[int]) -> tuple[float | None, str]:
        """Mean frequency of these CPUs now, and where it was read. If it is unknown: None, and
        why."""
        numbers = list(cpus)
        cpufreq = [
            _number(self._cpus / f"cpu{number}/cpufreq/scaling_cur_freq") for number in numbers
        ]
        known = [khz / 1000 for khz in cpufreq if khz is not None]
        if known:
            return sum(known) / len(known), "cpufreq"
        sections = list(_cpuinfo(_text(self._proc / "cpuinfo") or ""))
        if any("hypervisor" in section.get("flags", "").split() for section in sections):
            return None, "not available: a virtual machine does not know its frequency"
        known = [
            float(section["cpu MHz"])
            for section in sections
            if "cpu MHz" in section and int(section.get("processor", -1)) in numbers
        ]
        if known:
            return sum(known) / len(known), "/proc/cpuinfo"
        return None, "not available: neither in cpufreq nor in /proc/cpuinfo"

    def throttle_events(self, cpus: Iterable[int]) -> int | None:
        """How often these CPUs were throttled for heat since boot; None if the machine does not
        count it."""
        folders = (self._cpus / f"cpu{number}/thermal_throttle" for number in cpus)
        counts = [_number(folder / "core_throttle_count") for folder in folders]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def processes(self, most: int) -> dict[int, ProcessTime] | None:
        """Process id -> CPU time of each visible process, without kernel threads. None if there are
        more than `most`, or if none can be read."""
        found = {}
        names = [name for name in _names(self._proc) if name.isdigit()]
        for name in names if len(names) <= most else ():
            time = process_time(_text(self._proc / name / "stat") or "")
            if time is not None:
                found[int(name)] = time
        return found or None

    def running_tasks(self, pids: Iterable[int]) -> int:
        """Number of runnable threads of these processes."""
        running = 0
        for pid in pids:
            tasks = self._proc / str(pid) / "task"
            for task in _names(tasks):
                stat = _text(tasks / task / "stat") or ""
                # The state is the first field behind the name; a task that is gone has none.
                running += stat.rpartition(")")[2].split()[:1] == ["R"]
        return running


def cpu_times(stat: str) -> dict[int, CpuTimes]:
    """Parse /proc/stat: CPU number -> times."""
    times = {}
    for line in stat.splitlines():
        name, *columns = line.split() or [""]
        if name.startswith("cpu") and name[3:].isdigit() and len(columns) > _STEAL:
            ticks = [int(column) for column in columns[: _STEAL + 1]]
            idle = sum(ticks[column] for column in _IDLE)
            times[int(name[3:])] = CpuTimes(sum(ticks), idle, ticks[_STEAL])
    return times


def process_time(stat: str) -> ProcessTime | None:
    """Parse /proc/PID/stat. None for a process that has ended, and for a kernel thread: that may
    work for the run itself (ksoftirqd handles its packets), so its time must not count as that of
    others."""
    # Behind the name, fields[0] is field 3 of proc_pid_stat(5): the state. So 1 is the parent, 6
    # the flags, 11 to 14 the CPU times with those of children, 19 the start.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20 or int(fields[6]) & _KERNEL_THREAD:
        return None
    return ProcessTime(int(fields[19]), int(fields[1]), sum(map(int, fields[11:15])))


_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of include/linux/sched.h."""


def descendants(processes: Mapping[int, ProcessTime], root: int) -> set[int]:
    """Ids of the process `root` and of all its descendants."""
    children: dict[int, list[int]] = {}
    for pid, time in processes.items():
        children.setdefault(time.parent, []).append(pid)
    found: set[int] = set()
    todo = [root]
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += children.get(pid, [])
    return found


def cpu_s_between(
    before: Mapping[int, ProcessTime], after: Mapping[int, ProcessTime], besides: set[int]
) -> float:
    """CPU time, seconds, that processes used between two readings. Those whose id is in `besides`
    are left out.

    A process that began and ended in between counts if its parent waited for it and is in both
    readings.
    """
    ticks = 0
    for pid, time in after.items():
        if pid not in besides:
            earlier = before.get(pid)
            same = earlier is not None and earlier.started == time.started
            # When a parent waits for an ended child, the child's whole time is added to the
            # parent's. The share from before the first reading is subtracted below.
            ticks += time.ticks - (earlier.ticks if same and earlier is not None else 0)
    for pid, time in before.items():
        parent = time.parent
        if pid not in after and pid not in besides and parent in after and parent not in besides:
            ticks -= time.ticks
    return max(0, ticks) / USER_HZ


def _cpuinfo(text: str) -> Iterator[dict[str, str]]:
    """Yield the sections of /proc/cpuinfo, one for each CPU, as name -> value."""
    for section in text.split("\n\n"):
        pairs = (line.partition(":") for line in section.splitlines())
        yield {name.strip(): value.strip() for name, _, value in pairs}


def _names(folder: Path) -> list[str]:
    """Names in a folder; none if it is gone."""
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _text(path: Path) -> str | None:
    """Content of a file; None if it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def _number(path: Path) -> int | None:
    """The number in a file; None if it has none, or cannot be read."""
    text = (_text(path) or "").strip()
    return int(text) if text.isdigit() else None
