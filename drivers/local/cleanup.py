"""Cleanup: remove what was built, by the names in the journal alone.

The same code serves the orderly tear-down, an interrupted deployment and the leftovers of a killed
run, so that every run exercises it.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from sfcperf import waiting
from sfcperf.drivers.base import Resource
from sfcperf.drivers.local import cgroups, network, nics
from sfcperf.errors import DeploymentError
from sfcperf.hosts.namespace import NETNS_FOLDER

KILL_TIMEOUT_S = 60.0

NAMESPACE = "netns"
CGROUP = "cgroup"
FOLDER = "folder"


def remove_resources(resources: Sequence[Resource], *, dry_run: bool = False) -> list[str]:
    """Remove namespaces with the processes in them, control groups and folders, and give network
    cards back; with `dry_run`, only list them.

    Returns a line for each process and resource that existed. Raises DeploymentError for what
    remains.
    """
    cards = [r for r in resources if r.kind == nics.NIC]
    namespaces = [r.name for r in resources if r.kind == NAMESPACE]
    groups = [Path(r.name) for r in resources if r.kind == CGROUP]
    folders = [Path(r.name) for r in resources if r.kind == FOLDER]
    if dry_run:
        return [
            *(f"process {pid}" for pid in _processes(namespaces, groups)),
            *(f"network card {card.name}" for card in cards if nics.is_away(card)),
            *(f"namespace {name}" for name in namespaces if (NETNS_FOLDER / name).exists()),
            *(f"control group {group}" for group in groups if group.exists()),
            *(f"folder {folder}" for folder in folders if folder.exists()),
        ]
    lines = [f"process {pid}" for pid in kill(namespaces, groups)]
    # A virtual card would go with its namespace.
    lines += [f"network card {card.name}" for card in cards if nics.give_back(card)]
    lines += [f"namespace {name}" for name in namespaces if network.remove_namespace(name)]
    # Child groups are removed before their parents, whatever the order in which they were made.
    for group in sorted(groups, key=lambda path: len(path.parts), reverse=True):
        if cgroups.remove(group):
            lines.append(f"control group {group}")
    for folder in folders:
        if folder.exists():
            shutil.rmtree(folder)
            lines.append(f"folder {folder}")
    return lines


def kill_processes(resources: Sequence[Resource]) -> None:
    """Kill all processes in these namespaces and control groups. Raises DeploymentError."""
    namespaces = [r.name for r in resources if r.kind == NAMESPACE]
    kill(namespaces, [Path(r.name) for r in resources if r.kind == CGROUP])


def check_free(resources: Sequence[Resource]) -> None:
    """Raises DeploymentError when one of these namespaces exists already: it belongs to somebody
    else, and must not be removed when the deployment fails."""
    names = [r.name for r in resources if r.kind == NAMESPACE]
    taken = [name for name in names if (NETNS_FOLDER / name).exists()]
    if taken:
        raise DeploymentError(
            f"the network namespace {taken[0]} already exists, and this run did not create it",
            hint="is another process working on this run? `sfcperf clean` removes what is left",
        )


def kill(namespaces: Sequence[str], groups: Sequence[Path]) -> list[int]:
    """Kill all processes in these namespaces and control groups, however fast they start new ones,
    and return their ids. Raises DeploymentError if they do not end within KILL_TIMEOUT_S."""
    killed: list[int] = []
    end = time.monotonic() + KILL_TIMEOUT_S
    while pids := _processes(namespaces, groups):
        if time.monotonic() > end:
            raise DeploymentError(f"processes do not end: {', '.join(map(str, pids))}")
        with ExitStack() as stack:
            held = {pid: file for pid in pids if (file := _open_pidfd(pid, stack)) is not None}
            # The processes are listed again, because an id may have gone to another process before
            # its pidfd was opened; from then on the pidfd stands for one process.
            for pid in set(held) & set(_processes(namespaces, groups)):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(held[pid], signal.SIGKILL)
                if pid not in killed:
                    killed.append(pid)
        waiting.sleep(0.002)
    return killed


def _open_pidfd(pid: int, stack: ExitStack) -> int | None:
    """A pidfd of the process, closed with the stack; None when the process has ended."""
    try:
        file = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    stack.callback(os.close, file)
    return file


def _processes(namespaces: Sequence[str], groups: Sequence[Path]) -> list[int]:
    """Return the ids of the processes in these namespaces and groups, without sfcperf's own."""
    pids = set(network.processes_in(namespaces))
    for group in groups:
        pids.update(cgroups.members(group))
    return sorted(pids - {os.getpid()})
