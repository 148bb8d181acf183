"""CPU time of processes, to the nanosecond (the kernel's sched-stats.rst), where stat has ticks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def by_thread(pid: int) -> Counter[str]:
    """Of a process's threads of each name, ns."""
    used: Counter[str] = Counter()
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        used[name] += int((task / "schedstat").read_text().split()[0])
    return used


def cpu_s(*pids: int) -> float:
    """Of all threads of these processes, user and kernel."""
    return sum(by_thread(pid).total() for pid in pids) / 1e9
