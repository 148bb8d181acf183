"""Limits for the size of a workflow, before references are replaced and after it.

A reference of four characters can stand for a level of a megabyte, in each of a thousand scenarios.
Sizes are therefore computed before anything is expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from sfcperf.workflow.document import pointer

MAX_VALUES = 50_000
"""Most values in a document."""
MAX_EXPANDED = 100_000
"""Most values in all forms of the sections that vary, of all variants together."""
MAX_TRIALS = 100_000
"""Most trials in the planned rounds, with warm-up."""
_CHARACTERS_PER_VALUE = 100

Levels = Mapping[str, Sequence[Any]]
"""Factor -> its levels, with `value` and `label`."""


def size(value: Any, of_text: Callable[[str], int] | None = None) -> int:
    """Count the values. A string counts as one more for each 100 characters, or as `of_text`
    says."""
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
            count += sum(map(len, item)) // _CHARACTERS_PER_VALUE
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, str):
            count += of_text(item) if of_text else len(item) // _CHARACTERS_PER_VALUE
    return count


def largest(value: Any, at: pointer.Path = ()) -> pointer.Path:
    """Path of the part that holds most of the values. It leads down as long as one part has more
    than half of the values around it."""
    parts: dict[Any, Any] = {}
    if isinstance(value, dict):
        parts = value
    elif isinstance(value, list):
        parts = dict(enumerate(value))
    whole = size(value)
    for key, item in parts.items():
        if 2 * size(item) > whole:
            return largest(item, (*at, key))
    return at


def expanded_size(section: Any, levels: Levels, names_in: Callable[[str], list[str]]) -> int:
    """Upper bound for the size of all forms of a section together. `names_in` lists the references
    in a text."""
    # A reference stands for the value of a level, or for its label as text.
    value_sizes = {
        name: max(max(size(level.value), _size_as_text(level.label)) for level in each)
        for name, each in levels.items()
    }
    used: set[str] = set()

    def of_text(text: str) -> int:
        """Size of a string with the largest levels in place of its references, less 1. Notes the
        factors that it refers to in `used`."""
        names = [name for name in names_in(text) if name in levels]
        used.update(names)
        return len(text) // _CHARACTERS_PER_VALUE + sum(value_sizes[name] for name in names)

    # A form for each combination of the levels that the section uses.
    values = size(section, of_text)
    return values * prod(len(levels[name]) for name in used)


def _size_as_text(label: Any) -> int:
    """Size of a label as text: 1, and one more for each 100 characters."""
    return 1 + len(str(label)) // _CHARACTERS_PER_VALUE
