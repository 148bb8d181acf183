"""Whether two values of JSON documents are the same, and how a message shows them."""

from __future__ import annotations

import json
from typing import Any

_SHOWN = 120
"""Characters of a value in a message."""


def same(a: Any, b: Any) -> bool:
    """As JSON: `True` is not 1, and 1.0 is 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def shown(value: Any) -> str:
    """The value, or its beginning."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
