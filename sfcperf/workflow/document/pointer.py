"""JSON pointers (RFC 6901), which locate values in a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Path = tuple[str | int, ...]
"""Keys and indices that lead from the document's root to a value."""


def to_pointer(path: Iterable[str | int]) -> str:
    """Convert a path, `("chain", "functions", 0)`, to a pointer, `/chain/functions/0`; the root is
    `""`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def parts(pointer: str) -> tuple[str, ...]:
    """Convert a pointer, `/chain/functions/0`, to its parts, `("chain", "functions", "0")`.

    Raises ValueError for text that is not a JSON pointer.
    """
    if pointer and not pointer.startswith("/"):
        raise ValueError("a JSON pointer starts with /")
    unescaped = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return tuple(unescaped)


def deepest(document: Any, path: Sequence[str | int]) -> Path:
    """Return the longest beginning of `path` that exists in the document. Indices in `path` may be
    text."""
    for depth, part in enumerate(path):
        if isinstance(document, dict) and part in document:
            document = document[str(part)]
        elif isinstance(document, list) and is_index(part) and int(part) < len(document):
            document = document[int(part)]
        else:
            return tuple(path[:depth])
    return tuple(path)


def is_index(part: str | int) -> bool:
    """Whether a part of a path is a number. RFC 6901 has ASCII digits only."""
    return str(part).isascii() and str(part).isdigit()


def value_at(document: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path that exists."""
    for part in path:
        document = document[part]
    return document
