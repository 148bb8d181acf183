"""Strict JSON for documents that programs write. Python's json also accepts NaN and Infinity, and
has no limits."""

from __future__ import annotations

import json
import math
from typing import Any

_MAX_DIGITS = 30
_SHOWN = 60
"""Longest part of a key that a message shows, characters."""


def loads(content: bytes | str, *, bounded: bool = False, max_values: int | None = None) -> Any:
    """Parse JSON text. Raises ValueError for anything that is not JSON.

    `bounded` also refuses integers of more than 30 digits, floats that overflow, and duplicate
    keys, of which readers take different ones (iperf3 writes some). It costs a Python call per
    number. `max_values` refuses text that may hold more values (`most_values`), before it is
    parsed.
    """
    if max_values is not None and most_values(content) > max_values:
        raise ValueError(f"more than {max_values} values")
    if isinstance(content, bytes):
        content = content.decode(json.detect_encoding(content), "surrogatepass")
    try:
        return (_BOUNDED if bounded else _DECODER).decode(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def most_values(content: bytes | str) -> int:
    """Upper bound for the number of values in JSON text: each value is the first, or follows a
    comma or an opening bracket. Counting costs no memory, while parsing costs up to 25 bytes for
    each byte of text."""
    if isinstance(content, str):
        return 1 + sum(map(content.count, "[,{"))
    return 1 + sum(map(content.count, (b"[", b",", b"{")))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _float(text: str) -> float:
    """Read a number with a fraction or exponent. Raises ValueError if it is too large for a
    float."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:_MAX_DIGITS]} is too large a number")
    return value


def _integer(text: str) -> int:
    """Read a whole number. Raises ValueError if it has too many digits."""
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"{text[:_MAX_DIGITS]}... is too large a number")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs. Raises ValueError that names a duplicate key."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    for key, _ in pairs:
        if key not in found:
            raise ValueError(f"duplicate key {key[:_SHOWN]!r}")
        del found[key]
    raise AssertionError("unreachable: fewer keys than pairs")


# The decoders are made once: json.loads would make one for each of thousands of lines.
_DECODER = json.JSONDecoder(parse_constant=_refuse)
_BOUNDED = json.JSONDecoder(
    parse_constant=_refuse, parse_float=_float, parse_int=_integer, object_pairs_hook=_object
)
