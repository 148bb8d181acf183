"""Small pieces of text that several verbs print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.cli.escaping import escaped


def levels_text(levels: Mapping[str, Any]) -> str:
    """`chain_length=2 topology=T1`; a workflow without factors has one scenario, without levels."""
    return " ".join(f"{name}={level}" for name, level in levels.items()) or "the only scenario"


def duration_text(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 05 min`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def count_text(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shown(text: str) -> str:
    """Text from files of others, on one line and without control characters."""
    return escaped(text).translate({ord("\n"): "\\n", ord("\t"): "\\t"})
