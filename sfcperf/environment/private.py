"""Private folders: what a process keeps on disk only while it lives.

    $SFCPERF_STATE_DIR (root: /var/lib/sfcperf, others: $XDG_STATE_HOME/sfcperf)
      private-XXXXXXXX/    readable by its user alone, and locked by its process

A folder that can be locked is of a dead process: `sfcperf clean` removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfcperf.environment.state_root import VARIABLE, state_root
from sfcperf.errors import EnvironmentLacks, system_errors_as

_PREFIX = "private-"


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder (mode 0700), removed afterwards; by `sfcperf clean` if this process is killed.
    Raises EnvironmentLacks if it cannot be created."""
    root = state_root()
    with system_errors_as(
        EnvironmentLacks,
        "a private folder for the files of a package cannot be created",
        where=root,
        hint=f"set {VARIABLE} to a folder that you may write",
        prefer_filename=True,
    ):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder, lock = _create(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def dead_folders() -> list[Path]:
    """Folders whose process is dead."""
    return sorted(path for path in state_root().glob(f"{_PREFIX}*") if _is_dead(path))


def _create(root: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        # `clean` may have removed it before it was locked.
        if folder.exists():
            return folder, lock
        os.close(lock)


def _is_dead(folder: Path) -> bool:
    """Whether nobody holds its lock; not of what is no folder, or of others."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        lock = os.open(folder, flags)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.fstat(lock).st_uid == os.geteuid()
        finally:
            os.close(lock)
    return False
