"""Small pieces of text that several verbs print."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from sfcperf.cli.terminal.escaping import escaped


def levels_text(levels: Mapping[str, Any]) -> str:
    """`chain_length=2 topology=T1`; a workflow without factors has one scenario, without levels."""
    return " ".join(f"{name}={level}" for name, level in levels.items()) or "the only scenario"


def shown(text: str) -> str:
    """Text from files of others, on one line and without control characters."""
    return escaped(text).translate({ord("\n"): "\\n", ord("\t"): "\\t"})


def wrapped(line: str, columns: int) -> str:
    """A line as several of at most so many columns, broken at spaces, the further ones as far in as
    the first. A word that is longer, such as a path, stays whole."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.fill(
        line,
        max(1, columns),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
