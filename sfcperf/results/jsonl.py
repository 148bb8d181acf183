"""JSON Lines that remain readable if the process is killed while writing.

A line is complete when its newline is on disk. `append` returns only then, so an incomplete last
line was never acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from sfcperf.input_file import open_input
from sfcperf.results.documents import MAX_DOCUMENT_BYTES, damaged, parse
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
    """Yield line number (from 1) and object of each complete line; nothing if the file does not
    exist. Only one line at a time is in memory. Raises InputError, which names the line, if a line
    is not a JSON object, or is longer than MAX_DOCUMENT_BYTES."""
    if not path.exists():
        return
    with BufferedReader(open_input(path, "the file")) as file:
        number = 0
        while line := file.readline(MAX_DOCUMENT_BYTES + 1):
            number += 1
            where = f"{path}:{number}"
            if line.endswith(b"\n"):
                yield number, parse(line, where)
            elif len(line) > MAX_DOCUMENT_BYTES:
                raise damaged(f"a line of more than {MAX_DOCUMENT_BYTES} bytes", where)


def cut_incomplete_line(path: Path) -> None:
    """Remove a last line without a newline: a run that was killed while writing leaves one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(path, end)
