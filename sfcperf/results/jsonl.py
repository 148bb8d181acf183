"""JSON Lines that remain readable if the process is killed while writing.

A line is complete when its newline is on disk. `append` returns only then, so an incomplete last
line was never acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfcperf.results.documents import damaged, parse
from sfcperf.results.files import sync_folder


def append(path: Path, document: str) -> None:
    """Add one line (JSON text without newlines); it is on disk when this returns."""
    is_new = not path.exists()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666), "ab") as file:
        file.write(document.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        sync_folder(path.parent)


def read(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number (from 1) and object of each complete line; nothing without a file. Raises
    InputError, naming the line, if one is not a JSON object."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise damaged(str(error.strerror), str(path)) from error
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        yield number, parse(line, f"{path}:{number}")


def cut_incomplete_line(path: Path) -> None:
    """Remove a last line without a newline, which a run leaves that was killed while writing."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(path, end)
