"""Counts of things in words, with the noun in singular or plural."""

from __future__ import annotations

import re


def count_text(count: int, noun: str) -> str:
    """A count with its noun: `1 trial`, `2 trials`, `2 replies`."""
    return f"{count} {noun}" if count == 1 else f"{count} {re.sub('(?<=[^aeiou])y$', 'ie', noun)}s"


def were_text(count: int, noun: str) -> str:
    """A count with its noun and verb: `1 packet was`, `2 packets were`."""
    return f"{count_text(count, noun)} {'was' if count == 1 else 'were'}"
