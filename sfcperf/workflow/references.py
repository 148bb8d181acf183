"""`${name}` in a workflow: where references are, and what they stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from sfcperf.workflow import pointer

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")


def names_in(text: str) -> list[str]:
    """Names referred to in a string, as written."""
    return _REFERENCE.findall(text)


def is_unfinished(text: str) -> bool:
    """Whether a `${` has no `}`: never meant."""
    return "${" in _REFERENCE.sub("", text)


def strings(value: Any, at: pointer.Path = ()) -> Iterator[tuple[pointer.Path, str]]:
    """Every string in a value (keys are not), with its place."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, (*at, index))


def names_within(value: Any) -> set[str]:
    """Names referred to anywhere in a value."""
    return {name for _, text in strings(value) for name in names_in(text)}


def is_whole(text: str) -> bool:
    """Whether a string is exactly one reference, so that it takes the level's type."""
    return _REFERENCE.fullmatch(text) is not None


def substitute(value: Any, level: Callable[[str], Any], label: Callable[[str], Any]) -> Any:
    """A copy with references replaced: by `level(name)` where the string is exactly one
    reference, else by the text of `label(name)`."""
    if isinstance(value, str):
        if is_whole(value):
            return level(names_in(value)[0])
        return _REFERENCE.sub(lambda match: as_text(label(match[1])), value)
    if isinstance(value, dict):
        return {key: substitute(item, level, label) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, level, label) for item in value]
    return value


def as_text(value: Any) -> str:
    """A scalar as it looks inside a string: JSON, without the quotes of a text."""
    return value if isinstance(value, str) else json.dumps(value)
