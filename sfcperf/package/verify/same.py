"""Whether two values of JSON documents are the same, and how a message shows them."""

from __future__ import annotations

import json
from typing import Any

_SHOWN = 120
"""Characters of a value in a message."""


def same(one: Any, other: Any) -> bool:
    """As JSON: `True` is not 1, and 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def shown(value: Any) -> str:
    """The value, or its beginning."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
