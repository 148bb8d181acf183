"""Where Spark's process takes commands: a socket in the state folder, which no other user can
enter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET = "spark.socket"
"""Name of the socket's file."""


@contextmanager
def short_path(place: Path) -> Iterator[str]:
    """Yield a short name for a socket's file, which holds while the block lasts. An address has at
    most 107 bytes, and the path may be longer."""
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{place.name}"
    finally:
        os.close(folder)
