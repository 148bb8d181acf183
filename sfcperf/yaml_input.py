"""Reads YAML that somebody else may have written: plain values, with limits on what aliases stand
for.

An alias costs two bytes and stands for any number of values ("billion laughs"). So values, with
what aliases stand for, are counted in the parser's events before any value is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from sfcperf.errors import InputError

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 64
MAX_VALUES = 20_000
"""Most keys and values; an alias counts as what it stands for."""
_CHARACTERS_PER_VALUE = 100
_MAX_DIGITS = 64
_ERRORS = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""Errors, besides its own, that PyYAML raises for values that do not fit their tags (`!!timestamp
x`)."""


def loads(content: bytes, what: str, *, max_values: int = MAX_VALUES) -> Any:
    """Parse a YAML document to plain values, those of `yaml.safe_load`. `what` names it in
    messages.

    Raises InputError, which says at which line, for: text that is not YAML, a number of more than
    64 digits, more than 64 levels, more than `max_values` keys and values, or more than 100
    characters for each of these on average.
    """
    import yaml

    try:
        _Budget(max_values, what).check(yaml.parse(content, Loader=_loader()))
        return yaml.load(content, Loader=_loader())
    except (*_ERRORS, yaml.YAMLError) as error:
        raise InputError(f"{what} is not YAML: {_in_words(error)}") from None


def _in_words(error: Exception) -> str:
    """Say what is wrong without quoting the file, which may not be meant for the reader of the
    message."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "a value cannot be read"
    if "nesting depth" in problem:
        # PyYAML 6.0.4 itself refuses some depths before we do, because it looks ahead.
        problem = f"nested more than {MAX_DEPTH} levels deep"
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return re.sub(r" *'.*", "", problem, flags=re.DOTALL) + place


@cache
def _loader() -> type[yaml.SafeLoader]:
    """Return the class that parses: PyYAML's safe loader, in C if there is one, with a limit on
    numbers."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Refuses numbers that would take hours: `1:59:59:...` is a number of base 60."""

        def construct_number(self, node: yaml.ScalarNode) -> Any:
            if len(node.value) > _MAX_DIGITS:
                raise yaml.constructor.ConstructorError(
                    problem="too long a number", problem_mark=node.start_mark
                )
            integer = node.tag.endswith(":int")
            return self.construct_yaml_int(node) if integer else self.construct_yaml_float(node)

    for kind in ("int", "float"):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", Loader.construct_number)
    return Loader


@dataclass
class _Open:
    """A list or mapping whose end the parser has not reached."""

    anchor: str | None
    """Name that aliases use for it; None: it has no name."""
    values: int
    """Number of values in the document before it."""
    characters: int
    """Number of characters of these values."""
    depth: int = 1
    """Levels of what it holds so far, itself included."""


@dataclass(frozen=True)
class _Size:
    """Values, characters and levels of what an anchor stands for."""

    values: int
    characters: int
    depth: int


@dataclass
class _Budget:
    """Counts values, characters and levels of a document from its events. An alias counts as what
    it stands for."""

    max_values: int
    what: str
    values: int = 0
    characters: int = 0
    open: list[_Open] = field(default_factory=list)
    """Lists and mappings around the current event, the outermost first."""
    anchors: dict[str, _Size] = field(default_factory=dict)
    """Name of an anchor -> size of what it stands for, once that has ended."""

    def check(self, events: Iterable[yaml.Event]) -> None:
        """Raise InputError as soon as something is too much."""
        import yaml

        for event in events:
            if isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end()
            elif isinstance(event, yaml.ScalarEvent):
                self._add(_Size(1, len(event.value), 1), event)
                if event.anchor is not None:
                    self.anchors[event.anchor] = _Size(1, len(event.value), 1)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        """Begin to count what is in a list or mapping."""
        self.open.append(_Open(event.anchor, self.values, self.characters))
        if event.anchor is not None:
            # The name may have stood for something else: from now on, it stands for this.
            self.anchors.pop(event.anchor, None)
        self._add(_Size(1, 0, 0), event)  # its own level counts in `open`

    def _end(self) -> None:
        """End the innermost list or mapping, and remember its size if it has an anchor."""
        ended = self.open.pop()
        if self.open:
            self.open[-1].depth = max(self.open[-1].depth, ended.depth + 1)
        if ended.anchor is not None:
            size = (self.values - ended.values, self.characters - ended.characters, ended.depth)
            self.anchors[ended.anchor] = _Size(*size)

    def _alias(self, event: yaml.AliasEvent) -> None:
        """Count an alias as what it stands for; refuse one that stands for nothing, or for
        itself."""
        size = self.anchors.get(event.anchor or "")
        if size is not None:
            self._add(size, event)
        elif any(each.anchor == event.anchor for each in self.open):
            self._refuse("holds an alias of itself", event)
        else:
            self._refuse("has an alias without an anchor", event)

    def _add(self, size: _Size, event: yaml.Event) -> None:
        """Count what an event stands for; refuse the document if any limit is exceeded."""
        self.values += size.values
        self.characters += size.characters
        if self.open:
            self.open[-1].depth = max(self.open[-1].depth, size.depth + 1)
        if len(self.open) + size.depth > MAX_DEPTH:
            self._refuse("is nested too deeply", event, f"{MAX_DEPTH} levels")
        if self.values > self.max_values:
            most = f"{self.max_values} keys and values, with what aliases stand for"
            self._refuse("has too many values", event, most)
        if self.characters > self.max_values * _CHARACTERS_PER_VALUE:
            most = f"{self.max_values * _CHARACTERS_PER_VALUE} characters"
            self._refuse("is too long", event, f"{most}, with what aliases stand for")

    def _refuse(self, problem: str, event: yaml.Event, allowed: str | None = None) -> None:
        place = f" at line {event.start_mark.line + 1}" if event.start_mark else ""
        raise InputError(f"{self.what} {problem}{place}", allowed=allowed)
