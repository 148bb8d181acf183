"""Mounts of control-group hierarchies, from /proc/self/mountinfo and /proc/self/cgroup.

A mount need not show its whole hierarchy: in a container its root often is the container's own
group, while the paths of both files still start at the root of the hierarchy, or of the reader's
cgroup namespace (proc(5), cgroups(7), cgroup_namespaces(7)).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class CgroupMount:
    """A hierarchy, or a part of one, as it is mounted."""

    version: int
    controllers: frozenset[str]
    """Controllers of a mount on v1, among its other mount options; empty on v2, where they are in
    `cgroup.controllers`."""
    root: PurePosixPath
    """The group that is mounted at `folder`."""
    folder: Path

    def locate(self, group: str) -> Path | None:
        """Folder of a group in /proc/self/cgroup; None if this mount does not show it."""
        try:
            relative = PurePosixPath(group).relative_to(self.root)
        except ValueError:
            return None
        # `/..` is a group outside of the reader's cgroup namespace.
        return None if ".." in relative.parts else self.folder / relative


def cgroup_mounts(mountinfo: str) -> list[CgroupMount]:
    """The mounts of hierarchies, v1 and v2, in the order of /proc/self/mountinfo."""
    mounts = []
    for line in filter(None, mountinfo.split("\n")):
        place, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            root, folder = map(_unescaped, place.split(" ")[3:5])
            v1 = kind == "cgroup"
            controllers = frozenset(options.split(",") if v1 else ())
            mounts.append(
                CgroupMount(1 if v1 else 2, controllers, PurePosixPath(root), Path(folder))
            )
    return mounts


def own_groups(membership: str) -> Mapping[str, str]:
    """v1 controller -> path of the reader's group, from /proc/self/cgroup (lines
    `4:memory:/path`). The group on v2 has the key ""."""
    groups: dict[str, str] = {}
    for line in filter(None, membership.split("\n")):
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path)
    return groups


def _unescaped(field: str) -> str:
    """Return a field of mountinfo as it is meant: the kernel writes blanks and backslashes in
    octal, `\\040`."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
