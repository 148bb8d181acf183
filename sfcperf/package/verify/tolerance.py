"""Equality of results that another release of a library may have computed in another order."""

from __future__ import annotations

import csv
import math
from typing import Any

REL_TOLERANCE = 1e-9
"""Results that differ by more are different."""


def same_value(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers) and not isinstance(one, bool):
        return math.isclose(one, other, rel_tol=REL_TOLERANCE, abs_tol=0.0)
    return bool(one == other)


def same_table(one: bytes, other: bytes) -> bool:
    """Whether two CSV texts are equal."""
    try:
        before, now = (list(csv.reader(text.decode().splitlines())) for text in (one, other))
    except (UnicodeDecodeError, csv.Error):
        return False
    return len(before) == len(now) and all(
        len(old) == len(new) and all(map(_same_cell, old, new))
        for old, new in zip(before, now, strict=True)
    )


def _same_cell(one: str, other: str) -> bool:
    try:
        return same_value(float(one), float(other))
    except ValueError:
        return one == other
