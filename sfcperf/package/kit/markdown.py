"""Texts of users in Markdown."""

from __future__ import annotations

import re
from html import escape


def words(text: str) -> str:
    """Put a text of the user on one line, escaped so that Markdown shows it as it is (CommonMark,
    section 2.4)."""
    # Characters of HTML become entities: not all programs know a backslash before them.
    line = escape(" ".join(text.split()), quote=False)
    return re.sub(r"[\\`*_\[\]#|~]", r"\\\g<0>", line)
