"""Where Spark's process takes commands: a socket in the state folder, which nobody else enters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET = "spark.socket"
"""Name of its file."""


@contextmanager
def short_path(place: Path) -> Iterator[str]:
    """A name of a socket's file while the block lasts, however long its path is: addresses have 107
    bytes."""
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{place.name}"
    finally:
        os.close(folder)
