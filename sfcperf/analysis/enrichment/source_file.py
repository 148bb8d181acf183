"""Files that a workflow names for enriching."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sfcperf.errors import InputError

MAX_BYTES = 2**30
"""Largest file that is read; GeoLite2-City has about 60 MB."""


def read_bytes(folder: Path, file: str) -> bytes:
    """Content of a file, relative to the workflow's folder. Raises InputError."""
    path = folder / file
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise InputError("this file is too large", where=str(path), allowed="up to 1 GiB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"the file cannot be read: {reason}",
            where=str(path),
            hint="paths start at the workflow's folder",
        ) from error


def sha256(content: bytes) -> str:
    """Hexadecimal digest: which version of a file gave the tags."""
    return hashlib.sha256(content).hexdigest()
