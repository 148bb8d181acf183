"""Read a file that somebody else may have written: a regular file of a bounded size, nothing else.

A FIFO, a terminal or a device could block for ever, or never end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sfcperf.errors import InputError


def read_input(path: Path, what: str, *, max_bytes: int, hint: str | None = None) -> bytes:
    """The content of a file. `what` names it in messages ("the workflow").

    Raises InputError (`where`: the path) if it is not a regular file, cannot be read or has more
    than `max_bytes` bytes. Never waits: files are opened with O_NONBLOCK.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                raise InputError(f"this is a folder, not {what}", where=str(path), hint=hint)
            if not stat.S_ISREG(found.st_mode):
                raise InputError(
                    f"{what} cannot be read: it is not a regular file", where=str(path), hint=hint
                )
            content = b"" if found.st_size > max_bytes else _content(descriptor, max_bytes)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{what} cannot be read: {reason}", where=str(path), hint=hint) from error
    if max(found.st_size, len(content)) > max_bytes:
        raise InputError(f"{what} is too large", where=str(path), allowed=f"{max_bytes} bytes")
    return content


def _content(descriptor: int, max_bytes: int) -> bytes:
    """Up to one byte more than allowed: the size of a file in /proc is 0, and a file may grow."""
    parts: list[bytes] = []
    left = max_bytes + 1
    while left and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
