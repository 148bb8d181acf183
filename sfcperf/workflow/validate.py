"""Validates values against a schema, and explains in plain words what does not fit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.workflow import pointer
from sfcperf.workflow.findings import Misfit, did_you_mean, listing

_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
}
_LENGTHS = {
    "Length": "character",
    "Items": "item",
    "Properties": "key",
    "Contains": "matching item",
}
"""Keyword without `min` or `max` -> what it counts."""


def misfits(schema: Mapping[str, Any], value: Any) -> list[Misfit]:
    """All misfits; for alternatives only those of the most relevant one."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    failures = map(_Failure.of, validator.iter_errors(value))
    return list(dict.fromkeys(misfit for failure in failures for misfit in _in_words(failure)))


@dataclass(frozen=True)
class _Failure:
    """The parts of a jsonschema ValidationError that this module uses."""

    keyword: str
    """Keyword of the schema that failed."""
    wanted: Any
    """Its value."""
    schema: Mapping[str, Any]
    """The schema with the keyword; empty for the schema `false`."""
    given: Any
    path: pointer.Path
    """Of `given`, from the validated value."""
    depth: int
    """Depth of `given` below its branch of alternatives."""
    message: str
    in_key: bool
    """Whether `given` is a key (`propertyNames`)."""
    branches: tuple[tuple[_Failure, ...], ...]
    """Failures by branch, for alternatives."""

    @classmethod
    def of(cls, error: Any) -> _Failure:
        branches: dict[Any, list[_Failure]] = {}
        for child in error.context or ():
            branches.setdefault(child.schema_path[0], []).append(cls.of(child))
        return cls(
            keyword=str(error.validator),
            wanted=error.validator_value,
            schema=error.schema if isinstance(error.schema, Mapping) else {},
            given=error.instance,
            path=tuple(error.absolute_path),
            depth=len(error.path),
            message=error.message,
            in_key="propertyNames" in error.schema_path and isinstance(error.instance, str),
            branches=tuple(map(tuple, branches.values())),
        )


def _in_words(failure: _Failure) -> Iterator[Misfit]:
    if failure.branches:
        yield from _best_branch(failure)
    elif failure.keyword == "additionalProperties" and isinstance(failure.given, dict):
        yield from _unknown_keys(failure)
    elif failure.keyword == "required":
        yield from _missing_keys(failure)
    else:
        yield _simple(failure)


def _simple(failure: _Failure) -> Misfit:
    wanted, keyword = failure.wanted, failure.keyword
    given = _shown(failure.given)
    path = (*failure.path, failure.given) if failure.in_key else failure.path
    if keyword == "enum":
        options = [item if isinstance(item, str) else json.dumps(item) for item in wanted]
        hint = did_you_mean(failure.given, options)
        return Misfit(path, f"{given} is not known here", listing(options), hint)
    if keyword == "type":
        message = f"must be {_kinds(wanted)}, not {given}"
    elif keyword == "const":
        message = f"must be {_shown(wanted)}, not {given}"
    elif keyword in _BOUNDS:
        message = f"must be {_BOUNDS[keyword].format(wanted)}, not {given}"
    elif keyword[3:] in _LENGTHS:
        bound = "at least" if keyword.startswith("min") else "at most"
        noun = _LENGTHS[keyword[3:]] + ("" if wanted == 1 else "s")
        message = f"must have {bound} {wanted} {noun}"
    elif keyword == "pattern":
        message = f"{given} does not match the required pattern"
    elif keyword == "format":
        message = f"{given} does not have the format {wanted}"
    elif keyword == "uniqueItems":
        message = "must not have duplicate items"
    elif keyword == "not":
        message = f"{given} is not allowed here"
    else:
        message = _shortened(failure.message)
    return Misfit(path, message, _allowed(failure.schema))


def _allowed(schema: Mapping[str, Any]) -> str | None:
    """What a schema allows: its range, if it has one, and its description."""
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        words = f"{least} to {most}"
    elif least is not None or most is not None:
        words = f"{least} or more" if most is None else f"{most} or less"
    else:
        words = ""
    about = schema.get("description") or schema.get("pattern")
    return f"{words}: {about}" if words and about else words or about


def _unknown_keys(failure: _Failure) -> Iterator[Misfit]:
    known = failure.schema.get("properties", {})
    patterns = failure.schema.get("patternProperties", {})
    for key in sorted(failure.given.keys() - known.keys()):
        if not any(re.search(pattern, key) for pattern in patterns):
            message = f"the key {_shortened(key)!r} is not known here"
            yield Misfit((*failure.path, key), message, listing(known), did_you_mean(key, known))


def _missing_keys(failure: _Failure) -> Iterator[Misfit]:
    # jsonschema gives one error per missing key, and names it only in the message.
    for key in failure.wanted:
        if key not in failure.given and failure.message.startswith(repr(key)):
            described = failure.schema.get("properties", {}).get(key)
            about = described.get("description") if isinstance(described, dict) else None
            hint = f"{key}: {about}" if about else None
            yield Misfit(failure.path, f"the key {key!r} is missing", hint=hint)


def _best_branch(failure: _Failure) -> Iterator[Misfit]:
    """Misfits of the alternative that was most likely meant: one of the right type, with the
    fewest and deepest misfits; if none has the right type, what all of them allow."""
    near = [branch for branch in failure.branches if not any(map(_is_other_kind, branch))]
    if not near:
        yield _together(failure)
        return
    best = min(near, key=lambda branch: (len(branch), -max(child.depth for child in branch)))
    for child in best:
        yield from _in_words(child)


def _is_other_kind(failure: _Failure) -> bool:
    """Whether a branch failed at its root, by type or by a fixed value."""
    return failure.depth == 0 and failure.keyword in ("type", "const", "enum")


def _together(failure: _Failure) -> Misfit:
    wanted: list[str] = []
    options: list[str] = []
    for child in (child for branch in failure.branches for child in branch):
        if child.keyword == "type":
            wanted.append(_kinds(child.wanted))
        elif child.keyword in ("const", "enum"):
            values = child.wanted if child.keyword == "enum" else [child.wanted]
            wanted += [_shown(item) for item in values]
            options += [str(item) for item in values]
    return Misfit(
        failure.path,
        f"{_shown(failure.given)} is not allowed here",
        " or ".join(dict.fromkeys(wanted)),
        did_you_mean(failure.given, options),
    )


def _kinds(wanted: str | Iterable[str]) -> str:
    return " or ".join(_TYPES[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted))


def _shown(value: Any) -> str:
    """A value as in the file, shortened."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    # A password in a URL must not appear on the screen.
    hidden = re.sub(r"(://)[^/?#\"]*@", r"\1***@", json.dumps(value, ensure_ascii=False))
    return _shortened(hidden)


def _shortened(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
