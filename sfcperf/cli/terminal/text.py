"""Small pieces of text that several verbs print."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from sfcperf.cli.terminal.escaping import escaped


def levels_text(levels: Mapping[str, Any]) -> str:
    """Name a scenario by its levels, such as `chain_length=2 topology=T1`. Without factors there is
    only one scenario, which has no levels."""
    return " ".join(f"{name}={level}" for name, level in levels.items()) or "the only scenario"


def shown(text: str) -> str:
    """Escape a text from a file of somebody else: it is then on one line and without control
    characters."""
    return escaped(text).translate({ord("\n"): "\\n", ord("\t"): "\\t"})


def wrapped(line: str, columns: int) -> str:
    """Wrap a line at spaces, to at most so many columns. Further lines are indented like the first.
    A longer word, such as a path, stays whole."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.fill(
        line,
        max(1, columns),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
