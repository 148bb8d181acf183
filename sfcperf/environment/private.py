"""Private folders: what a process keeps on disk only while it lives.

    $SFCPERF_STATE_DIR (root: /var/lib/sfcperf, others: $XDG_STATE_HOME/sfcperf)
      private-XXXXXXXX/    readable by its user alone, and locked by its process
        beside             path of another folder that goes with it

A folder that can be locked is of a dead process: `sfcperf clean` removes it.
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
    """A new folder (mode 0700), removed afterwards; by `sfcperf clean` if this process is killed.
    Raises EnvironmentLacks if it cannot be created."""
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
    """A new folder next to `target` (mode 0700), from which it can be renamed; removed afterwards,
    or as `private_folder` is. Raises EnvironmentLacks if it cannot be created."""
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
    """Folders whose process is dead, and those that go with them, which come first."""
    dead = sorted(path for path in state_root().glob(f"{_PREFIX}*") if _is_dead(path))
    return [*(found for path in dead if (found := _beside(path)) is not None), *dead]


def _beside(folder: Path) -> Path | None:
    """The folder that goes with a private one, if it is there and is of this user."""
    with suppress(OSError):
        found = Path(os.fsdecode((folder / _BESIDE).read_bytes()))
        if found.lstat().st_uid == os.geteuid():
            return found
    return None


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
