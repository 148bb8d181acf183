"""Read JSON that somebody else wrote: bounded in size, depth and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfcperf import strict_json
from sfcperf.errors import InputError
from sfcperf.package.layout import MAX_DOCUMENT_BYTES


def read_json(path: Path, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> Any:
    """The document in a file. Raises InputError, naming the file by its last two parts."""
    where = "/".join(path.parts[-2:])
    try:
        if path.stat().st_size > max_bytes:
            raise InputError(f"larger than {max_bytes} bytes", where=where)
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=where) from error
    return parse_json(content, where)


def parse_json(content: bytes, where: str) -> Any:
    """JSON text as values. Raises InputError."""
    try:
        return strict_json.loads(content, bounded=True)
    except ValueError as error:
        raise InputError(f"not JSON: {error}", where=where) from error
