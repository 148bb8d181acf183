"""Writing files so that a crash, or a power cut, never leaves half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it takes the place of `path` when the block ends well and
    is gone when it does not. A reader meets the old file or the new one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace_file(path: Path, text: str) -> None:
    """Write a whole text file, UTF-8, as `replacing` does."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def sync_folder(folder: Path) -> None:
    """Make the names of a folder durable: a new file can otherwise vanish in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
