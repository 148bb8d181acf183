"""Equality of results that another release of a library may have computed in another order."""

from __future__ import annotations

import csv
import math
from io import StringIO
from typing import Any

from sfcperf.package.verify.same import same

REL_TOLERANCE = 1e-9
"""Two numbers are equal if they differ by at most this ratio of the larger one."""


def same_value(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal, their numbers to REL_TOLERANCE."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if _is_number(a) and _is_number(b):
        return math.isclose(a, b, rel_tol=REL_TOLERANCE, abs_tol=0.0)
    return same(a, b)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_table(a: bytes, b: bytes) -> bool:
    """Whether two CSV texts are equal, their numbers to REL_TOLERANCE."""
    try:
        before, now = (list(csv.reader(StringIO(text.decode(), newline=""))) for text in (a, b))
    except (UnicodeDecodeError, csv.Error):
        return False
    return len(before) == len(now) and all(
        len(old) == len(new) and all(map(_same_cell, old, new))
        for old, new in zip(before, now, strict=True)
    )


def _same_cell(a: str, b: str) -> bool:
    """Whether two cells are equal: as numbers if both are, else as text."""
    try:
        return same_value(float(a), float(b))
    except ValueError:
        return a == b
