"""Counts, lists of names, and moments (ISO 8601) as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sfcperf.counts import count_text

_FIGURE = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")
"""A number, also with decimals and an exponent."""


def of_all_text(part: int, total: int, noun: str) -> str:
    """Return the start of a sentence about some of all: `1 of 6 trials is`, `2 of 6 trials are`, or
    if it is about all, `the only trial is`, `all 6 trials are`."""
    if part == total:
        return f"the only {noun} is" if total == 1 else f"all {total} {noun}s are"
    return f"{part} of {count_text(total, noun)} {'is' if part == 1 else 'are'}"


def duration_text(seconds: float) -> str:
    """Format a duration: `45 s`, `12 min`, `3 h 05 min`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def first_names(names: Sequence[str], most: int = 4) -> str:
    """List the first names and count the others: `a, b, c, d and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def without_figures(text: str) -> str:
    """Replace all numbers by `#`, so that texts that differ in numbers only become equal."""
    return _FIGURE.sub("#", text)


def shortened(text: str, most: int) -> str:
    """Cut a text to at most `most` characters, with an ellipsis for what is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """Return text from outside on one line: control characters, which XML does not allow and which
    a terminal would obey, are replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def time_of_day(moment: str) -> str:
    """Return the time of day of an ISO 8601 moment: `12:34:56`."""
    return moment[11:19]


def date_and_time(moment: str) -> str:
    """Return an ISO 8601 moment as people read it: `2026-01-02 12:34:56`."""
    return moment[:19].replace("T", " ")


def run_s(manifest: Mapping[str, Any]) -> float | None:
    """Return the duration of a run in seconds, corrected for steps of the system clock while it
    ran; None while it runs."""
    if manifest["ended_at"] is None:
        return None
    steps_s = sum(float(step["step_s"]) for step in manifest.get("clock_steps", ()))
    return seconds_between(manifest["started_at"], manifest["ended_at"]) - steps_s


def seconds_between(start: str, end: str) -> float:
    """Return the seconds between two ISO 8601 moments."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
