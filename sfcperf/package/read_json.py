"""Read JSON that somebody else wrote: bounded in size, values, depth and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfcperf import strict_json
from sfcperf.errors import InputError
from sfcperf.input_file import read_input
from sfcperf.results.documents import MAX_DOCUMENT_BYTES, MAX_VALUES

MAX_WORKFLOW_BYTES = 3 << 20
"""Largest size of a workflow in a package. A user's file has at most 1 MiB, but the run folder's
copies are indented, and their characters beyond ASCII are escaped. Larger ones take longer to check
than `verify` may."""


def read_json(path: Path, where: str, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> Any:
    """Read the document in a file. Raises InputError, which names the file as `where`."""
    try:
        content = read_input(path, "the file", max_bytes=max_bytes)
    except InputError as error:
        raise InputError(error.message, where=where, allowed=error.allowed) from error
    return parse_json(content, where)


def parse_json(content: bytes, where: str) -> Any:
    """Parse JSON text, within the bounds of this module. Raises InputError."""
    try:
        return strict_json.loads(content, bounded=True, max_values=MAX_VALUES)
    except ValueError as error:
        raise InputError(f"not JSON: {error}", where=where) from error
