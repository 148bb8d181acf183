"""A path of plain characters: for programs and files of settings that give spaces, quotes, `$`, `%`
or `*` in a path a meaning, or take a path for UTF-8."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def plain_path(path: Path) -> Iterator[Path]:
    """Another path to a file or a folder, for any process of this user while the block lasts: by
    the descriptor that this process has of it (proc(5)). Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield Path(f"/proc/{os.getpid()}/fd/{file}")
    finally:
        os.close(file)
