"""What a program's `counters` command prints: a JSON object, or lines `NAME VALUE`."""

from __future__ import annotations

import re

from sfcperf import strict_json
from sfcperf.errors import MeasurementError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_MOST = 256
_LARGEST = 2**63 - 1


def parsed(printed: str) -> dict[str, int]:
    """Parse counters: name -> value. Raises MeasurementError for any other text."""
    pairs = _pairs(printed.strip())
    if len(pairs) > _MOST:
        raise MeasurementError(f"it printed {len(pairs)} counters, and {_MOST} are allowed")
    for name, value in pairs.items():
        if not _NAME.fullmatch(name):
            raise MeasurementError(
                f"{name[:80]!r} is not the name of a counter: letters, digits and underscores"
            )
        # true is an int in Python.
        if type(value) is not int or not 0 <= value <= _LARGEST:
            raise MeasurementError(f"the counter {name} is not a whole number: {str(value)[:80]!r}")
    return pairs


def _pairs(text: str) -> dict[str, int]:
    """Name -> value as printed, not yet checked. Raises MeasurementError."""
    if text.startswith("{"):
        try:
            return dict(strict_json.loads(text, bounded=True, max_values=2 * _MOST))
        except ValueError as error:
            raise MeasurementError(f"it printed JSON with an error: {error}") from error
    pairs: dict[str, int] = {}
    for line in text.splitlines():
        words = line.replace("=", " ").replace(":", " ").split()
        if len(words) != 2 or not words[1].isascii() or not words[1].isdigit():
            raise MeasurementError(f"not a line `NAME VALUE`: {line[:80]!r}")
        pairs[words[0]] = int(words[1][:20])
    return pairs
