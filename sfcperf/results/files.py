"""Writing files so that a crash, or a power cut, never leaves half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_UNFINISHED = ".new"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it takes the place of `path` when the block ends well and
    is gone when it does not. A reader meets the old file or the new one; two writers do not meet:
    the last one's file stays."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        # A name that cannot be had (too long) has been complained about above.
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace_file(path: Path, text: str) -> None:
    """Write a whole text file, UTF-8, as `replacing` does."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def remove_unfinished(folder: Path) -> None:
    """Remove what `replacing` left in a folder when its process was killed."""
    for file in folder.glob(f".*{_UNFINISHED}"):
        file.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names of a folder durable: a new file can otherwise vanish in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
