"""Control groups: CPUs and memory of an instance, limited and metered, on v1 and on v2.

v1 has a hierarchy per controller and v2 one for all; both exist in the field, and some machines
mount both. A group lies below the one in which sfcperf runs (v1), so that a container's limits
hold, or below the root (v2: a group with processes cannot have limited children).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf.errors import DeploymentError, EnvironmentLacks

CONTROLLERS = ("cpuset", "cpuacct", "memory")
"""Needed of v1; v2 meters CPU time without a controller of its own."""

REMOVAL_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Hierarchies:
    """Where groups are made."""

    version: int
    parents: dict[str, Path]
    """Controller -> folder below which groups are made; the same for all on v2."""


def hierarchies(mounts: str, membership: str) -> Hierarchies:
    """The machine's hierarchies, from /proc/self/mounts and /proc/self/cgroup.

    Raises EnvironmentLacks when neither version has all controllers.
    """
    own = dict(_membership(membership))
    parents: dict[str, Path] = {}
    unified: Path | None = None
    for line in mounts.splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup":
            for controller in set(options.split(",")) & set(CONTROLLERS):
                parents[controller] = Path(folder) / own.get(controller, "/").lstrip("/")
        elif kind == "cgroup2":
            unified = Path(folder)
    if set(parents) == set(CONTROLLERS):
        return Hierarchies(1, parents)
    if unified is not None and _unified_offers(unified):
        return Hierarchies(2, dict.fromkeys(CONTROLLERS, unified))
    missing = ", ".join(sorted(set(CONTROLLERS) - set(parents)))
    raise EnvironmentLacks(
        f"control groups cannot be used: no {missing} on v1, and v2 does not offer cpuset, memory",
        hint="mount the cgroup hierarchies (a container needs access to them)",
    )


def this_machine() -> Hierarchies:
    """The hierarchies of the machine that runs sfcperf."""
    own = Path("/proc/self")
    return hierarchies((own / "mounts").read_text(), (own / "cgroup").read_text())


class Cgroup:
    """The group of one instance, in every hierarchy; a Meter of it."""

    def __init__(self, where: Hierarchies, group: str, instance: str) -> None:
        """`group` is the run's, `instance` a child of it."""
        self._version = where.version
        self.folders = {
            controller: parent / group / instance for controller, parent in where.parents.items()
        }

    @property
    def paths(self) -> list[Path]:
        """Folders that `create` makes, children before parents."""
        children = dict.fromkeys(self.folders.values())
        return [*children, *dict.fromkeys(child.parent for child in children)]

    @property
    def procs(self) -> list[Path]:
        """Files in which a process writes itself to join."""
        return [folder / "cgroup.procs" for folder in dict.fromkeys(self.folders.values())]

    def create(self, cpus: Sequence[int], memory_mib: int | None) -> None:
        """Make it; `memory_mib` None does not limit memory. Raises DeploymentError."""
        try:
            for folder in self.folders.values():
                self._enable_controllers(folder)
                folder.mkdir(parents=True, exist_ok=True)
            self._limit_cpus(cpus)
            if memory_mib is not None:
                name = "memory.limit_in_bytes" if self._version == 1 else "memory.max"
                (self.folders["memory"] / name).write_text(str(memory_mib * 1024 * 1024))
        except OSError as error:
            raise DeploymentError(
                f"the control group cannot be made: {error.strerror}", where=str(error.filename)
            ) from error

    def cpu_s(self) -> float:
        """CPU time that the group has used, seconds."""
        if self._version == 1:
            return int((self.folders["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
        lines = (self.folders["cpuacct"] / "cpu.stat").read_text().splitlines()
        return int(dict(line.split() for line in lines)["usage_usec"]) / 1e6

    def memory_bytes(self) -> int:
        """Memory that is charged to the group now, bytes."""
        name = "memory.usage_in_bytes" if self._version == 1 else "memory.current"
        return int((self.folders["memory"] / name).read_text())

    def pids(self) -> list[int]:
        """Processes in the group."""
        return [int(pid) for pid in self.procs[0].read_text().split()]

    def _enable_controllers(self, folder: Path) -> None:
        """v2: parents hand cpuset and memory down to the groups below them."""
        if self._version == 2:
            root = folder.parent.parent
            folder.parent.mkdir(exist_ok=True)
            for parent in (root, folder.parent):
                (parent / "cgroup.subtree_control").write_text("+cpuset +memory")

    def _limit_cpus(self, cpus: Sequence[int]) -> None:
        folder = self.folders["cpuset"]
        if self._version == 1:
            # A new v1 cpuset is empty, and its parent's must be filled before its own.
            above = folder.parent.parent
            for name in ("cpuset.mems", "cpuset.cpus"):
                inherited = (above / name).read_text()
                (folder.parent / name).write_text(inherited)
                (folder / name).write_text(inherited)
        (folder / "cpuset.cpus").write_text(",".join(map(str, cpus)))


def remove(folder: Path) -> bool:
    """Remove a group (its processes must have been ended); False when there is none.

    Raises DeploymentError when processes stay in it.
    """
    end = time.monotonic() + REMOVAL_TIMEOUT_S
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return False
        except OSError as error:
            # A killed process leaves its group only when the kernel has done with it.
            if time.monotonic() > end:
                raise DeploymentError(
                    f"the control group cannot be removed: {error.strerror}", where=str(folder)
                ) from error
            time.sleep(0.005)
        else:
            return True


def members(folder: Path) -> list[int]:
    """Processes in a group; none when there is no such group."""
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _membership(text: str) -> list[tuple[str, str]]:
    """Controller -> own group, of /proc/self/cgroup (lines `4:memory:/path`)."""
    pairs = []
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        pairs += [(controller, path) for controller in controllers.split(",")]
    return pairs


def _unified_offers(root: Path) -> bool:
    try:
        offered = (root / "cgroup.controllers").read_text().split()
    except OSError:
        return False
    return {"cpuset", "memory"} <= set(offered) and os.access(root, os.W_OK)
