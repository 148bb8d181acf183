"""References: `${name}` in the strings of a document, which stand for the level of a factor."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.workflow.document import pointer

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")


@dataclass(frozen=True)
class Level:
    """One level of a factor."""

    label: Any
    """The level as results show it: a scalar."""
    value: Any
    """The value that `${factor}` stands for."""
    path: pointer.Path
    """Path of the value in the document."""


Combination = Mapping[str, Level]
"""Name of each factor -> one of its levels."""


def names_in(text: str) -> list[str]:
    """Names of the references in a string, in their order."""
    return _REFERENCE.findall(text)


def names_within(value: Any) -> set[str]:
    """Names of the references anywhere in a value."""
    return {name for _, text in strings(value) for name in names_in(text)}


def strings(value: Any, at: pointer.Path = ()) -> Iterator[tuple[pointer.Path, str]]:
    """Yield every string in a value with its path; keys are left out."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, (*at, index))


def is_unfinished(text: str) -> bool:
    """Whether a `${` has no `}`, which is always a mistake."""
    return "${" in _REFERENCE.sub("", text)


def is_whole(text: str) -> bool:
    """Whether a string is exactly one reference. It then takes the level's value with its type."""
    return _REFERENCE.fullmatch(text) is not None


def substitute(value: Any, levels: Combination) -> Any:
    """Copy a value with its references replaced: by the level's value where a string is exactly one
    reference, else by the text of the level's label."""
    if isinstance(value, str):
        if is_whole(value):
            return levels[names_in(value)[0]].value
        return _REFERENCE.sub(lambda match: level_text(levels[match[1]].label), value)
    if isinstance(value, dict):
        return {key: substitute(item, levels) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, levels) for item in value]
    return value


def level_text(level: Any) -> str:
    """A factor level as text: strings as they are, everything else as JSON."""
    return level if isinstance(level, str) else json.dumps(level, sort_keys=True)
