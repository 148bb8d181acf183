"""Counts, lists of names, and moments (ISO 8601) as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


def count_text(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def first_names(names: Sequence[str], most: int = 4) -> str:
    """`a, b, c, d and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def shortened(text: str, most: int) -> str:
    """At most `most` characters, with an ellipsis for what is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """Text of others, on one line and without control characters: XML has no place for them, and a
    terminal would obey them."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def time_of_day(moment: str) -> str:
    """`12:34:56`."""
    return moment[11:19]


def date_and_time(moment: str) -> str:
    """`2026-01-02 12:34:56`."""
    return moment[:19].replace("T", " ")


def seconds_between(start: str, end: str) -> float:
    """Between two moments [s]."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
