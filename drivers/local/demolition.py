"""Taking down what was built, from the names in the journal alone.

The same code serves the orderly tear-down, an interrupted deployment and the remains of a killed
run, so that the way that matters most is the one that is walked all the time.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from sfcperf.drivers.base import Resource
from sfcperf.drivers.local import cgroups, network
from sfcperf.errors import DeploymentError
from sfcperf.hosts.namespace import NETNS_FOLDER

KILL_TIMEOUT_S = 5.0

NAMESPACE = "netns"
CGROUP = "cgroup"
FOLDER = "folder"


def demolish(resources: Sequence[Resource], *, dry_run: bool = False) -> list[str]:
    """Remove namespaces with the processes in them, control groups and folders.

    Gives a line for each thing that was there. Raises DeploymentError for what stays.
    """
    namespaces = [r.name for r in resources if r.kind == NAMESPACE]
    groups = [Path(r.name) for r in resources if r.kind == CGROUP]
    folders = [Path(r.name) for r in resources if r.kind == FOLDER]
    if dry_run:
        return [
            *(f"process {pid}" for pid in _processes(namespaces, groups)),
            *(f"namespace {name}" for name in namespaces if (NETNS_FOLDER / name).exists()),
            *(f"control group {group}" for group in groups if group.exists()),
            *(f"folder {folder}" for folder in folders if folder.exists()),
        ]
    lines = [f"process {pid}" for pid in kill(namespaces, groups)]
    lines += [f"namespace {name}" for name in namespaces if network.remove_namespace(name)]
    # Children before their parent, whatever the order in which they were made.
    for group in sorted(groups, key=lambda path: len(path.parts), reverse=True):
        if cgroups.remove(group):
            lines.append(f"control group {group}")
    for folder in folders:
        if folder.exists():
            shutil.rmtree(folder)
            lines.append(f"folder {folder}")
    return lines


def kill(namespaces: Sequence[str], groups: Sequence[Path]) -> list[int]:
    """End all processes there, however fast they make new ones; gives their ids."""
    killed: list[int] = []
    end = time.monotonic() + KILL_TIMEOUT_S
    while pids := _processes(namespaces, groups):
        if time.monotonic() > end:
            raise DeploymentError(f"processes do not end: {', '.join(map(str, pids))}")
        with ExitStack() as stack:
            held = {pid: file for pid in pids if (file := _hold(pid, stack)) is not None}
            # Looked at again now that the ids cannot be given to other processes.
            for pid in set(held) & set(_processes(namespaces, groups)):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(held[pid], signal.SIGKILL)
                if pid not in killed:
                    killed.append(pid)
        time.sleep(0.002)
    return killed


def _hold(pid: int, stack: ExitStack) -> int | None:
    """A file that stands for this very process until the stack ends; None when it has gone."""
    try:
        file = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    stack.callback(os.close, file)
    return file


def _processes(namespaces: Sequence[str], groups: Sequence[Path]) -> list[int]:
    pids = set(network.processes_in(namespaces))
    for group in groups:
        pids.update(cgroups.members(group))
    return sorted(pids - {os.getpid()})
