"""Private folders: for files that a process keeps on disk only while it lives.

    $SFCPERF_STATE_DIR (root: /var/lib/sfcperf, others: $XDG_STATE_HOME/sfcperf)
      private-XXXXXXXX/    readable by its user alone, and locked by its process
        beside             path of another folder that goes with it

A folder whose lock can be taken belongs to a dead process: `sfcperf clean` removes it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfcperf.environment.state_root import VARIABLE, state_root
from sfcperf.errors import EnvironmentLacks, system_errors_as

_PREFIX = "private-"
_BESIDE = "beside"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Create a new folder (mode 0700), and remove it when the block ends. If this process is
    killed, `sfcperf clean` removes it. Raises EnvironmentLacks if it cannot be created."""
    root = state_root()
    with system_errors_as(
        EnvironmentLacks,
        "a private folder for unfinished files cannot be created",
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


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Create a new folder next to `target` (mode 0700), so that it can be renamed to it. It is
    removed when the block ends, or by `sfcperf clean` if this process is killed. Raises
    EnvironmentLacks if it cannot be created."""
    with private_folder() as private:
        folder = target.absolute().parent / f".{target.name}-{secrets.token_hex(4)}"
        (private / _BESIDE).write_bytes(os.fsencode(folder))
        with system_errors_as(
            EnvironmentLacks, "a folder for unfinished files cannot be created", where=folder
        ):
            folder.mkdir(mode=0o700, parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def dead_folders() -> list[Path]:
    """Private folders whose process is dead, and before them the folders that go with them. They
    are removed in this order: as long as such a folder is there, its private folder must name
    it."""
    dead = sorted(path for path in state_root().glob(f"{_PREFIX}*") if _is_dead(path))
    return [*(found for path in dead if (found := _beside(path)) is not None), *dead]


def _beside(folder: Path) -> Path | None:
    """The folder that goes with a private one. None if there is none, if it does not exist, or if
    it is another user's."""
    with suppress(OSError):
        found = Path(os.fsdecode((folder / _BESIDE).read_bytes()))
        if found.lstat().st_uid == os.geteuid():
            return found
    return None


def _create(root: Path) -> tuple[Path, int]:
    """Make a private folder and lock it. Return its path, and the descriptor that holds the lock
    until it is closed."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        # `clean` takes a folder that is not locked for a dead one: it may have removed this one,
        # before it was opened or before it was locked.
        if folder.exists():
            return folder, lock
        os.close(lock)


def _is_dead(folder: Path) -> bool:
    """Whether a folder of this user is locked by nobody. False for what is not a folder."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        lock = os.open(folder, flags)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.fstat(lock).st_uid == os.geteuid()
        finally:
            os.close(lock)
    return False
