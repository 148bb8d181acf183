"""Read JSON that somebody else wrote: bounded in size, depth and numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.package.layout import MAX_DOCUMENT_BYTES

_MAX_DIGITS = 30


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
    """JSON text as values: no NaN, no infinity (also none by overflow), no integer of more digits
    than any quantity has. Raises InputError."""
    try:
        return json.loads(
            content, parse_constant=_no_constant, parse_float=_float, parse_int=_integer
        )
    except (ValueError, RecursionError) as error:
        text = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise InputError(f"not JSON: {text}", where=where) from error


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:_MAX_DIGITS]} is beyond all numbers")
    return value


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"{text[:_MAX_DIGITS]}... is beyond all numbers")
    return int(text)
