"""Numbers in paths, queries and keys, which are text."""

from __future__ import annotations

import re

from pydantic import BeforeValidator

_MOST_DIGITS = 20


def from_text(value: object) -> object:
    """Convert text of decimal digits to a number; return anything that is not text as it is.
    Python's own conversion, and pydantic's, would also take `1_0`, ` 1` and digits of other
    scripts. Raises ValueError for other text."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(rf"[0-9]{{1,{_MOST_DIGITS}}}", value):
        raise ValueError("decimal digits are needed")
    return int(value)


FromText = BeforeValidator(from_text)
"""Annotation for an int that comes as text."""
