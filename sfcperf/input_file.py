"""Reads a file that somebody else may have written. It must be a regular file of a bounded size: a
FIFO, a terminal or a device could block for ever, or never end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from sfcperf.errors import InputError


def with_home(text: str) -> Path:
    """A path in which `~` is replaced by the home folder. For a user without one, the path stays as
    it is."""
    path = Path(text)
    with suppress(RuntimeError):
        return path.expanduser()
    return path


def open_input(path: Path, what: str, *, hint: str | None = None) -> FileIO:
    """Open a regular file for reading, without a buffer. `what` names it in messages.

    Raises InputError (`where`: the path) if it is not a regular file or cannot be opened. It never
    waits, since the file is opened with O_NONBLOCK.
    """
    with _readable(path, what, hint):
        file = FileIO(path, opener=_open)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise InputError(f"{what} cannot be read: it is not a regular file", where=str(path), hint=hint)


def read_input(path: Path, what: str, *, max_bytes: int, hint: str | None = None) -> bytes:
    """Read a whole file. `what` names it in messages ("the workflow").

    Raises InputError (`where`: the path) if it is not a regular file, cannot be read or has more
    than `max_bytes` bytes.
    """
    with open_input(path, what, hint=hint) as file, _readable(path, what, hint):
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > max_bytes else _content(file.fileno(), max_bytes)
    if max(size, len(content)) > max_bytes:
        raise InputError(f"{what} is too large", where=str(path), allowed=f"{max_bytes} bytes")
    return content


def _open(path: str, flags: int) -> int:
    """Open a file without waiting (for the other end of a FIFO), and without taking a terminal as
    this process's own."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


@contextmanager
def _readable(path: Path, what: str, hint: str | None) -> Iterator[None]:
    """Turn errors of opening and reading into InputError."""
    try:
        yield
    except IsADirectoryError as error:
        raise InputError(f"this is a folder, not {what}", where=str(path), hint=hint) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{what} cannot be read: {reason}", where=str(path), hint=hint) from error


def _content(descriptor: int, max_bytes: int) -> bytes:
    """Read up to one byte more than allowed, by which the caller sees that a file is too large. The
    size that the system tells is not enough: it is 0 for files in /proc, and a file may grow."""
    parts: list[bytes] = []
    left = max_bytes + 1
    while left and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
