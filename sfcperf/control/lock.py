"""Lock: a file that a process keeps locked for as long as it executes a run.

Whoever can open a file can lock it, so only its owner may open this one. Other users see in
/proc/locks whether it is locked.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as

NAME = "lock"
"""Name of the file, in a run folder and in the folder of a run's state."""
LOCKS = Path("/proc/locks")


class RunInProgress(InputError):
    """The run is being executed by another process."""


@contextmanager
def held(folder: Path, run_id: str) -> Iterator[None]:
    """Hold the lock of a folder while the block lasts. Raises what `take` raises."""
    descriptor = take(folder, run_id)
    try:
        yield
    finally:
        os.close(descriptor)


def take(folder: Path, run_id: str) -> int:
    """Take the lock of a folder; return the descriptor, which the caller closes to release it.

    The kernel releases the lock when the process ends. The descriptor is closed on exec, so that no
    child of the run keeps the lock. The file is never removed: a process could then lock the
    removed file while another one locks a new file of the same name.

    Raises RunInProgress, or EnvironmentLacks when the file cannot be opened, e.g. because a folder
    has its name.
    """
    path = folder / NAME
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with system_errors_as(EnvironmentLacks, "the lock of a run cannot be used", where=path):
        descriptor = os.open(path, flags, 0o600)
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            # A copy of a run folder may have given the file another mode. FAT has no modes.
            with suppress(PermissionError):
                os.fchmod(descriptor, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError):
            raise
        raise RunInProgress(
            f"the run {run_id} is being executed by another process",
            where=str(folder),
            hint="wait until it ends, or stop it with Ctrl-C",
        ) from error
    return descriptor


def is_held(folder: Path) -> bool:
    """Whether any process holds the lock of a folder now; False if the folder has no lock file."""
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        # The file of another user, who alone may open it.
        return holder(folder / NAME, holders()) is not None
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holders() -> Mapping[tuple[int, int, int], int]:
    """Map each file that is locked by flock(2), as (major, minor, inode), to its process; see
    proc_locks(5). A process of another PID namespace has the number 0 or is not listed."""
    found = {}
    with suppress(OSError):
        for line in LOCKS.read_text().splitlines():
            columns = line.split()
            if len(columns) > 5 and columns[1] == "FLOCK" and columns[3] == "WRITE":
                major, minor, inode = columns[5].split(":")
                found[int(major, 16), int(minor, 16), int(inode)] = int(columns[4])
    return found


def holder(file: Path, holders: Mapping[tuple[int, int, int], int]) -> int | None:
    """Id of the process that holds the lock of a file, by what the function `holders` returned;
    None if no process is listed there."""
    with suppress(OSError):
        status = file.stat()
        device = status.st_dev
        return holders.get((os.major(device), os.minor(device), status.st_ino))
    return None
