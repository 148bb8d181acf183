"""Control groups: CPUs and memory of an instance, limited and metered, on v1 and on v2.

v1 has a hierarchy per controller and v2 one for all; both are in use, and some machines mount both.
On v1 a group is created below the one in which sfcperf runs, so that a container's limits apply. On
v2 a group with processes cannot have limited children, so that it is created in the root of what is
mounted: the machine's, or a container's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf import waiting
from sfcperf.drivers.local.mountinfo import CgroupMount, cgroup_mounts, own_groups
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.hosts.procfs import process_stat, stat_lines

CONTROLLERS = ("cpuset", "cpuacct", "memory")
"""Controllers that are required on v1. They are the keys of folders on v2 too."""

CONTROLLERS_V2 = ("cpuset", "memory")
"""Controllers that are required on v2, which meters CPU time without one."""

LIMITS = (
    ("cpuset", "cpuset.cpus"),
    ("cpuset", "cpuset.effective_cpus"),
    ("cpuset", "cpuset.cpus.effective"),
    ("memory", "memory.limit_in_bytes"),
    ("memory", "memory.memsw.limit_in_bytes"),
    ("memory", "memory.max"),
    ("memory", "memory.high"),
    ("memory", "memory.swap.max"),
)
"""Controller and file of what limits a group, on v1 and v2, where the kernel has it."""

OUT_OF_MEMORY = ("oom", "oom_kill", "under_oom")
"""Events that tell of a lack of memory, in memory.oom_control (v1: cgroup-v1/memory.rst, section
10) and memory.events (v2)."""

REMOVAL_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Hierarchies:
    """Where groups are created."""

    version: int
    """Version of control groups: 1 or 2."""
    parents: dict[str, Path]
    """Controller -> folder below which groups are created; the same for all on v2."""


def this_machine() -> Hierarchies:
    """Return where groups can be created on the machine that runs sfcperf. Nothing is created to
    find out. Raises EnvironmentLacks when groups cannot be created.
    """
    own = Path("/proc/self")
    mountinfo, membership = (
        os.fsdecode((own / name).read_bytes()) for name in ("mountinfo", "cgroup")
    )
    return hierarchies(mountinfo, membership)


def hierarchies(mountinfo: str, membership: str) -> Hierarchies:
    """Return where a process can create groups: on v1 if all of CONTROLLERS are there, else on v2.

    `mountinfo` and `membership` are its /proc/self/mountinfo and /proc/self/cgroup. The folders
    that they name are read. Raises EnvironmentLacks.
    """
    mounts = cgroup_mounts(mountinfo)
    own = own_groups(membership)
    on_v1 = {name for mount in mounts for name in mount.controllers} & set(CONTROLLERS)
    unified = [mount.folder for mount in mounts if mount.version == 2]
    # A controller is either on v1 or on v2.
    if on_v1 == set(CONTROLLERS):
        return Hierarchies(1, {name: _parent_on_v1(name, mounts, own) for name in CONTROLLERS})
    if unified:
        return Hierarchies(2, dict.fromkeys(CONTROLLERS, _parent_on_v2(unified)))
    missing = ", ".join(sorted(set(CONTROLLERS) - on_v1))
    raise EnvironmentLacks(
        f"control groups cannot be used: no {missing} on v1, and v2 is not mounted",
        hint="mount the cgroup hierarchies (a container needs access to them)",
    )


def _parent_on_v1(controller: str, mounts: Sequence[CgroupMount], own: Mapping[str, str]) -> Path:
    """Return the folder of sfcperf's own group, in the first mount of this controller that shows
    the group and can be written to. Raises EnvironmentLacks."""
    group = own.get(controller, "")
    for mount in mounts:
        if controller in mount.controllers:
            folder = mount.locate(group)
            if folder is not None and os.access(folder, os.W_OK):
                return folder
    raise EnvironmentLacks(
        f"control groups cannot be created: no writable mount of {controller} (v1) shows "
        f"{group or '/'}, the group in which sfcperf runs",
        hint="a container needs --privileged, and its own group mounted below /sys/fs/cgroup",
    )


def _parent_on_v2(roots: Sequence[Path]) -> Path:
    """Return the first of these groups in which limited groups can be created. Raises
    EnvironmentLacks with the obstacle of the first group if there is none.

    Groups further down are no alternative: a group can only enable controllers that all groups
    above it have enabled (cgroup-v2.rst, "Top-down Constraint").
    """
    obstacles = {root: obstacle_on_v2(root) for root in roots}
    for root, obstacle in obstacles.items():
        if obstacle is None:
            return root
    raise next(filter(None, obstacles.values()))


def obstacle_on_v2(root: Path) -> EnvironmentLacks | None:
    """Return, as an error, why groups with limits cannot be created in this group; None if they
    can.

    The kernel's rules are in cgroup-v2.rst, "No Internal Process Constraint" and "Threads".
    """
    missing = set(CONTROLLERS_V2) - _words(root / "cgroup.controllers")
    if missing:
        return EnvironmentLacks(
            f"control groups cannot be used: {root} (v2) does not offer "
            f"{', '.join(sorted(missing))}",
            hint="use a kernel that offers it on v2 (not disabled by cgroup_disable=, not used by "
            "v1); a container must be given it",
        )
    if not os.access(root, os.W_OK):
        return EnvironmentLacks(
            f"control groups cannot be created: {root} (v2) is mounted read-only",
            hint="a container needs --privileged",
        )
    kind = root / "cgroup.type"
    # The machine's root has no type, and the rules below do not apply to it. They are about
    # enabling controllers, so they do not matter where these are enabled already.
    if not kind.exists() or set(CONTROLLERS_V2) <= _words(root / "cgroup.subtree_control"):
        return None
    if _words(kind) != {"domain"}:
        return EnvironmentLacks(
            f"control groups cannot be created: {kind} is {kind.read_text().strip()!r}",
            allowed="domain",
            hint=f"disable the controllers in {root}/cgroup.subtree_control",
        )
    if _words(root / "cgroup.procs"):
        return EnvironmentLacks(
            f"control groups with limits cannot be created: {root} (v2) has processes of its own, "
            "and is not the machine's root but a container's",
            hint=f"move them down, in the container: mkdir -p {root}/init && "
            f"xargs -rn1 <{root}/cgroup.procs >{root}/init/cgroup.procs; "
            f"echo '{_to_enable()}' >{root}/cgroup.subtree_control "
            "(or start the container with --privileged --cgroupns=host)",
        )
    return None


class Cgroup:
    """The group of one instance, in every hierarchy; a Meter of it. It does not exist before
    `create`; `cgroups.remove` removes it."""

    def __init__(self, where: Hierarchies, group: str, instance: str) -> None:
        """`group` is the name of the run's group, `instance` that of a child of it."""
        self._version = where.version
        self.folders = {
            controller: parent / group / instance for controller, parent in where.parents.items()
        }
        """Controller -> folder of the group."""
        self._own = tuple(dict.fromkeys(self.folders.values()))
        """Folders of the group, each once: on v2 all controllers have the same one."""
        self._set: dict[Path, str] = {}
        """File of LIMITS -> what it said when the group had been created."""

    @property
    def paths(self) -> list[Path]:
        """Folders that `create` creates, children before parents."""
        return [*self._own, *dict.fromkeys(folder.parent for folder in self._own)]

    @property
    def procs(self) -> list[Path]:
        """Files to which a process writes its id to join."""
        return [folder / "cgroup.procs" for folder in self._own]

    def create(self, cpus: Sequence[int], memory_mib: int | None) -> None:
        """Create the group, limited to these CPUs and this memory (None: no limit). Raises
        DeploymentError.

        On v2 this may enable controllers in the root, which stay enabled: that limits nothing, and
        others may have begun to rely on it.
        """
        for folder in self._own:
            self._make(folder)
        self._limit_cpus(cpus)
        if memory_mib is not None:
            self._limit_memory(memory_mib * 1024 * 1024)
        limits = [self.folders[controller] / name for controller, name in LIMITS]
        self._set = {file: file.read_text().strip() for file in limits if file.exists()}

    def problems(self, pids: Collection[int] = ()) -> list[str]:
        """Say what has happened to the group since it was created: it is gone, its limits have
        changed, it ran out of memory, or one of the processes `pids` is not in it. Empty if
        nothing has."""
        try:
            changed = [
                f"{file.name} of its control group is {now}, not {text}"
                for file, text in self._set.items()
                if (now := file.read_text().strip()) != text
            ]
            absent = {pid for pid in pids if not all(pid in _pids(procs) for procs in self.procs)}
            return [*changed, *self._lack_of_memory(), *_still_running(absent)]
        except FileNotFoundError as error:
            return [f"its control group is gone: {error.filename} does not exist"]
        except OSError as error:  # ENODEV: it is removed just now
            return [f"its control group cannot be read: {error.strerror}"]

    def _lack_of_memory(self) -> list[str]:
        """Say by which events the group ran out of memory. Reaching its limit is none of them: a
        full page cache reaches it too."""
        name = "memory.oom_control" if self._version == 1 else "memory.events"
        lines = (self.folders["memory"] / name).read_text().splitlines()
        events = [line for line in lines if line.split()[0] in OUT_OF_MEMORY]
        happened = ", ".join(line for line in events if line.split()[1] != "0")
        return [f"it ran out of memory ({name}: {happened})"] if happened else []

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
        """Return the ids of the processes in the group."""
        return _pids(self.procs[0])

    def processes(self) -> list[str]:
        """Line of /proc/PID/stat of each process in the group."""
        return stat_lines(self.pids())

    def _make(self, folder: Path) -> None:
        """Create the instance's folder, and above it the run's, where they are missing."""
        try:
            folder.parent.mkdir(exist_ok=True)
            if self._version == 2:
                # Enabling them in the child as well keeps them enabled in the root, where systemd
                # disables what it does not use itself.
                _enable_controllers(folder.parent.parent)
                _enable_controllers(folder.parent)
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise _cannot_be_made(error, Path(error.filename)) from error

    def _limit_cpus(self, cpus: Sequence[int]) -> None:
        """Write which CPUs the group may use."""
        folder = self.folders["cpuset"]
        if self._version == 1:
            # A new v1 cpuset is empty, and its parent's must be filled before its own.
            above = folder.parent.parent
            for name in ("cpuset.mems", "cpuset.cpus"):
                inherited = (above / name).read_text()
                _write(folder.parent / name, inherited)
                _write(folder / name, inherited)
        _write(folder / "cpuset.cpus", ",".join(map(str, cpus)))

    def _limit_memory(self, limit_bytes: int) -> None:
        """Limit memory and swap together, because memory that may be swapped out is not limited: on
        v1 the file for swap has the limit of both, on v2 that of swap alone."""
        folder = self.folders["memory"]
        if self._version == 1:
            _write(folder / "memory.limit_in_bytes", str(limit_bytes))
            swap, swap_bytes = folder / "memory.memsw.limit_in_bytes", limit_bytes
        else:
            _write(folder / "memory.max", str(limit_bytes))
            swap, swap_bytes = folder / "memory.swap.max", 0
        # The file is absent where the kernel does not account swap.
        if swap.exists():
            _write(swap, str(swap_bytes))


def remove(folder: Path) -> bool:
    """Remove a group whose processes have been killed, and return whether there was one.

    Raises DeploymentError when processes remain in it.
    """
    end = time.monotonic() + REMOVAL_TIMEOUT_S
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return False
        except OSError as error:
            # A killed process stays in its group until the kernel has cleaned it up.
            if time.monotonic() > end:
                raise DeploymentError(
                    f"the control group cannot be removed: {error.strerror}", where=str(folder)
                ) from error
            waiting.sleep(0.005)
        else:
            return True


def members(folder: Path) -> list[int]:
    """Processes in a group; none when there is no such group."""
    try:
        return _pids(folder / "cgroup.procs")
    except OSError:
        return []


def _still_running(pids: Collection[int]) -> list[str]:
    """Say which of these processes, which are not in the group, still run. A process that has ended
    is in no group either, and is no problem."""
    processes = [process_stat(line) for line in stat_lines(pids)]
    return [f"{p.command} has left its control group" for p in processes if p.state not in "ZX"]


def _pids(procs: Path) -> list[int]:
    """Return the ids of processes in a file `cgroup.procs`."""
    # 0 stands for a process in another PID namespace. It is left out, because kill() takes 0 for
    # the caller's own group.
    return [int(pid) for pid in procs.read_text().split() if pid != "0"]


def _enable_controllers(group: Path) -> None:
    """On v2, enable CONTROLLERS_V2 for the groups below this one."""
    control = group / "cgroup.subtree_control"
    if not set(CONTROLLERS_V2) <= _words(control):
        _write(control, _to_enable())


def _to_enable() -> str:
    """Return what enables CONTROLLERS_V2 when it is written to cgroup.subtree_control."""
    return " ".join(f"+{controller}" for controller in CONTROLLERS_V2)


def _words(file: Path) -> set[str]:
    """Return the words of a file; none if there is no such file."""
    try:
        return set(file.read_text().split())
    except FileNotFoundError:
        return set()


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        raise _cannot_be_made(error, file) from error


def _cannot_be_made(error: OSError, file: Path) -> DeploymentError:
    return DeploymentError(
        f"the control group cannot be created: {error.strerror}",
        where=str(file),
        hint="`sfcperf doctor` shows what control groups lack here",
    )
