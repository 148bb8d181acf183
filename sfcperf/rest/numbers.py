"""Numbers in paths, queries and keys, which are text."""

from __future__ import annotations

import re

from pydantic import BeforeValidator

_MOST_DIGITS = 20


def from_text(value: object) -> object:
    """Text of decimal digits as a number; anything else as it is. Python's own reading also takes
    `1_0`, ` 1` and the digits of other scripts, and so does pydantic's. Raises ValueError for other
    text."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(rf"[0-9]{{1,{_MOST_DIGITS}}}", value):
        raise ValueError("decimal digits are needed")
    return int(value)


FromText = BeforeValidator(from_text)
"""Of an annotated int."""
