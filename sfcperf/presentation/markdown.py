"""Text of users in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_CODE = re.compile("(`[^`]*`)")


def words(text: str, *, code: bool = False) -> str:
    """Put a text on one line, escaped so that Markdown shows it as it is (CommonMark, section
    2.4). With `code`, what it has between backticks is code."""
    line = " ".join(text.split())
    parts = _CODE.split(line) if code else [line]
    return "".join(part if odd % 2 else _escaped(part) for odd, part in enumerate(parts))


def _escaped(text: str) -> str:
    # Characters of HTML become entities: not all programs know a backslash before them.
    return re.sub(r"[\\`*_\[\]#|~]", r"\\\g<0>", escape(text, quote=False))


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a table; an empty cell takes no space of its own."""
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"
