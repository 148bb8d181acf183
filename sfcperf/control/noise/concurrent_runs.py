"""Concurrent runs: other runs that this machine executes now, and that share its CPUs.

Each run holds a lock for as long as it lives. This module reads /proc/locks instead of trying the
locks: even a short try could keep another process from resuming a dead run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from sfcperf.control import lock
from sfcperf.control.state import StateDir
from sfcperf.errors import SfcperfError


def other_runs(run_id: str, cpus: Iterable[int]) -> list[dict[str, Any]]:
    """List the living runs of this machine except `run_id`, and whether they may use one of `cpus`.
    Runs with another state folder (in a container) are not seen."""
    found = []
    holders = lock.holders()
    states = StateDir()
    with suppress(SfcperfError):  # a folder that cannot be read belongs to somebody else
        for other in states.run_ids():
            pid = lock.holder(states.root / "runs" / other / lock.NAME, holders)
            if other != run_id and pid is not None:
                found.append({"run_id": other, "shares_cpus": _shares(pid, set(cpus))})
    return found


def _shares(pid: int, cpus: set[int]) -> bool | None:
    """Whether a process may use one of these CPUs; None when its CPUs cannot be read."""
    try:
        return bool(os.sched_getaffinity(pid) & cpus)
    except OSError:
        return None
