"""Whether two values of JSON documents are the same, and how a message shows them."""

from __future__ import annotations

import json
from typing import Any

_SHOWN = 120
"""Largest number of characters of a value in a message."""


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same as JSON: unlike in Python, `True` is not 1; 1.0 is 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def shown(value: Any) -> str:
    """Return the value as JSON, or its beginning if it is long."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
