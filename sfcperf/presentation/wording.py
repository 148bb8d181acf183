"""Counts, lists of names, and moments (ISO 8601) as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sfcperf.counts import count_text

_FIGURE = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


def of_all_text(part: int, total: int, noun: str) -> str:
    """`1 of 6 trials is`, `2 of 6 trials are`; of all `the only trial is`, `all 6 trials are`."""
    if part == total:
        return f"the only {noun} is" if total == 1 else f"all {total} {noun}s are"
    return f"{part} of {count_text(total, noun)} {'is' if part == 1 else 'are'}"


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


def without_figures(text: str) -> str:
    """What texts have in common that differ in numbers only."""
    return _FIGURE.sub("#", text)


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


def run_s(manifest: Mapping[str, Any]) -> float | None:
    """From the start of a run to its end [s], without the steps of a clock that was set meanwhile;
    None while it runs."""
    if manifest["ended_at"] is None:
        return None
    steps_s = sum(float(step["step_s"]) for step in manifest.get("clock_steps", ()))
    return seconds_between(manifest["started_at"], manifest["ended_at"]) - steps_s


def seconds_between(start: str, end: str) -> float:
    """Between two moments [s]."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
