"""Equality of results that another release of a library may have computed in another order."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection
from typing import Any

REL_TOLERANCE = 1e-9
"""Results that differ by more are different."""


def same_value(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; keys that only `other` has are ignored."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() <= other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers) and not isinstance(one, bool):
        return math.isclose(one, other, rel_tol=REL_TOLERANCE, abs_tol=0.0)
    return bool(one == other)


def same_table(one: bytes, other: bytes, besides: Collection[str] = ()) -> bool:
    """Whether two CSV texts with a header are equal; columns that only one has, and those in
    `besides`, are ignored."""
    try:
        before, now = (list(csv.DictReader(text.decode().splitlines())) for text in (one, other))
    except (UnicodeDecodeError, csv.Error):
        return False
    return len(before) == len(now) and all(
        _same_cell(value, new.get(column))
        for old, new in zip(before, now, strict=True)
        for column, value in old.items()
        if column in new and column not in besides
    )


def _same_cell(one: Any, other: Any) -> bool:
    try:
        return same_value(float(one), float(other))
    except (TypeError, ValueError):
        return bool(one == other)
