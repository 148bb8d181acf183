"""Counts, lists of names, and moments (ISO 8601) as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


def count_text(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration_text(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 05 min`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def first_names(names: Sequence[str], most: int = 4) -> str:
    """`a, b, c, d and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def shortened(text: str, most: int) -> str:
    """At most `most` characters, with an ellipsis for what is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def time_of_day(moment: str) -> str:
    """`12:34:56`."""
    return moment[11:19]


def date_and_time(moment: str) -> str:
    """`2026-01-02 12:34:56`."""
    return moment[:19].replace("T", " ")


def seconds_between(start: str, end: str) -> float:
    """Between two moments [s]."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
