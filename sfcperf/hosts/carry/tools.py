"""Carries tools to a host that lacks them, or that has only busybox's, whose output is
different."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Host
from sfcperf.hosts.carry.closure import closure
from sfcperf.hosts.carry.pack import ProgramTree, archive, tree

_MEMORY_LEFT_BYTES = 12 << 20
"""Memory that stays free on a host whose files are in memory, as those of small VMs often are: the
tools have to run as well."""

_IN_MEMORY = frozenset({"1021994", "858458f6"})
"""Numbers of file-system types that are in memory, as stat prints them: tmpfs, ramfs; see
statfs(2)."""

_COMMAND_TIMEOUT_S = 30.0
_COPY_TIMEOUT_S = 60.0
_SLOWEST_BYTES_PER_S = 100_000
_MIB = 1 << 20

# Tools of which several makes exist -> the option that prints the make, and a word that is in the
# answer of the make whose output we can read.
_MAKES: Mapping[str, tuple[str, str]] = {
    "ip": ("-V", "iproute2"),
    "ping": ("-V", "iputils"),
    "sysctl": ("-V", "procps"),
    "tc": ("-V", "iproute2"),
}

# Prints the CPU architecture, and for each tool its name and path; no path: the host lacks it.
# $1: WORKDIR; then NAME OPTION WORD for each tool, `-` where there is none.
_FIND = """\
workdir=$1; shift
uname -m
busybox=$(command -v busybox); [ -x "$busybox" ] || busybox=/bin/busybox
while [ $# -gt 0 ]; do
	place=
	IFS=:
	for folder in $PATH; do
		file=$folder/$1
		[ "$folder" != "$workdir/bin" ] && [ -x "$file" ] && [ ! -d "$file" ] || continue
		[ "$file" -ef "$busybox" ] && continue
		target=$(readlink -f "$file")
		case ${target##*/} in busybox*|toybox*) continue ;; esac
		place=$file
		break
	done
	unset IFS
	if [ -n "$place" ] && [ "$2" != - ]; then
		case $("$place" "$2" 2>&1 </dev/null) in *"$3"*) ;; *) place= ;; esac
	fi
	echo "$1 $place"
	shift 3
done
"""

# Prints the free space (see FreeSpace), and which of the files exist. $1: WORKDIR; then files.
_WHICH = """\
workdir=$1; shift
mkdir -p "$workdir"
grep MemAvailable: /proc/meminfo
stat -f -c "%a %b %S %t" "$workdir"
for file; do [ -e "$file" ] && echo "${file##*/}"; done
true
"""

# Unpacks an archive from standard input. Objects are moved into place whole, and scripts last, so
# that a script is there only when all that it needs is. $1: WORKDIR.
_UNPACK = """\
set -e
part=$1/carried/.part-$$
trap 'rm -rf "$part"' EXIT
mkdir -p "$part" "$1/carried/objects" "$1/carried/trees" "$1/bin"
gzip -dc | tar -C "$part" -xf -
cd "$part"
for file in objects/* trees/*; do
	[ -e "$file" ] || [ -L "$file" ] || [ -d "$file" ] || continue
	[ -d "$1/carried/$file" ] || mv -f "$file" "$1/carried/$file"
done
for file in bin/*; do
	name=${file##*/}
	mv -f "$file" "$1/$file"
done
"""

# Prints why a program cannot run with this kernel or file system, and exits with 1; prints nothing
# if all can. $1: WORKDIR; then trees.
_CHECK = """\
workdir=$1; shift
for tree; do
	set -- "$tree"/run/*
	[ -e "$1" ] || continue
	said=$("$1" --library-path "$tree/lib" --list "$tree/program" 2>&1) && continue
	echo "$said" | tail -n 1
	exit 1
done
"""


@dataclass(frozen=True)
class FreeSpace:
    """Free space on a host."""

    memory_bytes: int
    disk_bytes: int | None
    """Free bytes of the file system; None: it has no limit of its own, as a ramfs."""
    in_memory: bool
    """Whether the file system is in memory."""

    @classmethod
    def of(cls, memory: str, disk: str) -> FreeSpace:
        """Read the free space from two lines: `MemAvailable` of /proc/meminfo; and free blocks, all
        blocks, bytes per block and type of the file system, as `stat -f -c "%a %b %S %t"` prints
        them."""
        free, total, block_bytes, kind = disk.split()
        limit = int(free) * int(block_bytes) if int(total) > 0 else None
        in_memory = limit is None or kind.lower() in _IN_MEMORY
        return cls(int(memory.split()[1]) * 1024, limit, in_memory)

    @property
    def usable_bytes(self) -> int:
        """How many bytes may be copied there."""
        limits = [] if self.disk_bytes is None else [self.disk_bytes]
        if self.in_memory:
            limits.append(self.memory_bytes - _MEMORY_LEFT_BYTES)
        return max(0, min(limits))


def equip(host: Host, tools: Iterable[str]) -> tuple[str, ...]:
    """Make sure that the host finds each of `tools` by its name, and not as an applet of busybox.

    A tool that is missing there, or is an applet of busybox, is copied from this machine to the
    host's workdir with its shared libraries; a second call copies nothing. Returns the names of the
    tools that are this machine's. Raises DeploymentError when the host has another CPU architecture
    or cannot execute the copies, EnvironmentLacks when this machine lacks a tool as well.
    """
    machine, absent = missing(host, tools)
    if absent:
        _refuse_other_machine(host, machine, absent)
        _carry(host, [tree(closure(name)) for name in absent])
    return absent


def missing(host: Host, tools: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return the host's CPU architecture (`uname -m`), and those of `tools` that it lacks. Applets
    of busybox and tools of another make count as lacking."""
    names = sorted(set(tools))
    if not names:
        return "", ()
    words = [word for name in names for word in (name, *_MAKES.get(name, ("-", "-")))]
    argv = ["sh", "-c", _FIND, "sh", str(host.workdir), *words]
    machine, *lines = host.run(argv, timeout_s=_COMMAND_TIMEOUT_S).text.splitlines()
    found = dict(line.split(" ", 1) for line in lines)
    return machine, tuple(name for name in names if not found[name])


def _refuse_other_machine(host: Host, machine: str, absent: tuple[str, ...]) -> None:
    """Raise DeploymentError if the host's CPU architecture, `machine`, is not that of this
    machine. `absent`: tools that it lacks, for the message."""
    here = platform.machine()
    if machine != here:
        raise DeploymentError(
            f"{host.name} lacks {', '.join(absent)}, and those of this machine cannot be copied "
            f"there: its CPU is {machine}, this one is {here}",
            hint="use an image that has them, or the driver's `provision: ansible`",
        )


def _carry(host: Host, trees: list[ProgramTree]) -> None:
    """Copy what the host does not have yet of these trees, and check that the programs run
    there."""
    carried = f"{host.workdir}/carried"
    paths = [f"{carried}/objects/{name}" for each in trees for name in each.objects]
    paths += [f"{carried}/trees/{each.digest}" for each in trees]
    argv = ["sh", "-c", _WHICH, "sh", str(host.workdir), *sorted(set(paths))]
    lines = host.run(argv, timeout_s=_COMMAND_TIMEOUT_S).text.splitlines()
    present = frozenset(lines[2:])  # names of objects, and digests of trees
    new = [each for each in trees if each.digest not in present]
    if new:
        _refuse_too_small(host, FreeSpace.of(*lines[:2]), new, present)
        data = archive(new, present, carried)
        host.run(
            ["sh", "-c", _UNPACK, "sh", str(host.workdir)],
            timeout_s=_COPY_TIMEOUT_S + len(data) / _SLOWEST_BYTES_PER_S,
            stdin=data,
        )
        _check(host, [f"{carried}/trees/{each.digest}" for each in new])


def _refuse_too_small(
    host: Host, room: FreeSpace, trees: list[ProgramTree], present: frozenset[str]
) -> None:
    """Raise DeploymentError when the host has no room for the trees, of which it has the objects in
    `present` already. A guest that runs out of memory kills its SSH server first, and nobody would
    see why."""
    objects = {name: path for each in trees for name, path in each.objects.items()}
    needed = sum(path.stat().st_size for name, path in objects.items() if name not in present)
    if needed > room.usable_bytes:
        where = "memory, where its files are" if room.in_memory else "disk"
        raise DeploymentError(
            f"{host.name} lacks {', '.join(each.closure.name for each in trees)}; they take "
            f"{needed / _MIB:.0f} MiB, and it has room for {room.usable_bytes / _MIB:.0f} MiB "
            f"({where})",
            hint="use a larger flavor, or an image that has them",
        )


def _check(host: Host, folders: list[str]) -> None:
    """Raise DeploymentError if the host cannot run the programs of these trees. `folders`: their
    paths on the host."""
    argv = ["sh", "-c", _CHECK, "sh", str(host.workdir), *folders]
    done = host.run(argv, timeout_s=_COMMAND_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise DeploymentError(
            f"{host.name} does not run programs that are copied there: "
            f"{done.text.strip() or done.stderr.decode(errors='replace').strip()}",
            where=str(host.workdir),
            hint="is that folder on a file system that is mounted noexec?",
        )
