"""A path of plain characters, for programs and settings files that cannot take any path: some give
spaces, quotes, `$`, `%` or `*` a meaning, some expect UTF-8."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def plain_path(path: Path) -> Iterator[Path]:
    """Yield another path to a file or folder, which any process of this user can use while the
    block lasts. It leads through a descriptor of this process (proc(5)). Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield Path(f"/proc/{os.getpid()}/fd/{file}")
    finally:
        os.close(file)
