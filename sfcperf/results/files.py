"""Writes files such that a crash or a power failure never leaves an incomplete one."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfcperf.results.ownership import check_place

_UNFINISHED = ".new"


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield a temporary file next to `path`. It replaces `path` when the block ends, and is removed
    if the block raises. `mode`: its permissions, less the umask.

    Readers see the old file or the new one; with two writers, the last one's file stays. Raises
    InputError in a folder where root does not write (sfcperf.results.ownership), and OSError if
    `path` is no regular file: root could otherwise replace /dev/null.
    """
    check_place(path.parent)
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        # For an impossible name (too long), `os.open` has raised, and `unlink` would raise again.
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace_file(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a whole text file in UTF-8, as `replacing` does. Bytes of a path that is not UTF-8
    become escapes, as a terminal shows them. A pipe or a device (/dev/stdout) cannot be replaced:
    the text is written to it."""
    if path.exists() and not path.is_file():
        check_place(path.parent)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    with replacing(path, mode) as beside:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")


def remove_empty(folder: Path) -> None:
    """Remove a folder's files without content, its folders without files, and then itself if it is
    empty. It need not exist."""
    for path in (*sorted(folder.rglob("*"), reverse=True), folder):
        with suppress(OSError):
            if path.is_dir():
                path.rmdir()
            elif path.stat().st_size == 0:
                path.unlink()


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files that `replacing` left in a folder when its process was killed."""
    for file in folder.glob(f".*{_UNFINISHED}"):
        file.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: otherwise a power failure can remove a new file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
