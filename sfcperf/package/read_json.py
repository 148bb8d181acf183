"""Read JSON that somebody else wrote: bounded in size, depth and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfcperf import strict_json
from sfcperf.errors import InputError, system_errors_as
from sfcperf.package.layout import MAX_DOCUMENT_BYTES


def read_json(path: Path) -> Any:
    """The document in a file. Raises InputError, naming the file by its last two parts."""
    where = "/".join(path.parts[-2:])
    with system_errors_as(InputError, "cannot be read", where=where):
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise InputError(f"larger than {MAX_DOCUMENT_BYTES} bytes", where=where)
        content = path.read_bytes()
    return parse_json(content, where)


def parse_json(content: bytes, where: str) -> Any:
    """JSON text as values. Raises InputError."""
    try:
        return strict_json.loads(content, bounded=True)
    except ValueError as error:
        raise InputError(f"not JSON: {error}", where=where) from error
