"""Validates values against a schema, and says in plain words what does not fit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.document.findings import MOST, SchemaViolation, choices, did_you_mean, listing

Failure = Any
"""A jsonschema.ValidationError. It is typed Any, because the type stubs also allow values that no
validator sets."""

PLUGIN_KIND = "x-sfcperf-plugin"
"""Annotation of a name of a plug-in in a schema: the kind of plug-in."""
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
_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([kKmMgGtT]?)")
_MULTIPLES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_LENGTHS = {
    "Length": "character",
    "Items": "item",
    "Properties": "key",
    "Contains": "matching item",
}
"""Keyword without its `min` or `max` -> what it counts."""


class Validator:
    """Decides which values fit a schema, and says in words what does not.

    jsonschema decides. jsonschema-rs is asked first, because its import takes a tenth of the time
    and it checks a thousand times faster. A value that it accepts needs no further check: where the
    two differ, it is the stricter one. If it refuses, jsonschema checks again and gives the
    reasons.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)

    def misfits(self, value: Any) -> list[SchemaViolation]:
        """List all misfits; for alternatives only those of the most relevant one. After the first
        50, a misfit has only its keyword for a message: it is only counted, and words take much
        longer than the check."""
        if self._surely_fits(value):
            return []
        found: dict[SchemaViolation, None] = {}
        for error in self._worded.iter_errors(value):
            if len(found) < MOST:
                found.update(dict.fromkeys(_in_words(error)))
            else:
                found[SchemaViolation(tuple(error.absolute_path), str(error.validator))] = None
        return list(found)

    def _surely_fits(self, value: Any) -> bool:
        """Whether jsonschema-rs accepts the value. False: it does not, or cannot tell."""
        try:
            return bool(self._fast.is_valid(value))
        except ValueError:
            # jsonschema-rs raises it for lone surrogates, for more levels than it follows, and for
            # schemas that it cannot read.
            return False

    @cached_property
    def _fast(self) -> Any:
        """Validator of jsonschema-rs, which is imported when it is first needed."""
        import jsonschema_rs

        return jsonschema_rs.Draft202012Validator(self._schema, validate_formats=True)

    @cached_property
    def _worded(self) -> Any:
        """Validator of jsonschema, whose errors are put in words."""
        kind = _limited_validator()
        return kind(self._schema, format_checker=kind.FORMAT_CHECKER)


@cache
def _limited_validator() -> Any:
    """Make a validator class of jsonschema with two changes. It skips the items of a list or an
    object that has too many: that alone is the error. And it keeps the description beside a `$ref`
    (`_of_place`)."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    limited = {"items": "maxItems", "uniqueItems": "maxItems"} | dict.fromkeys(
        ("properties", "patternProperties", "additionalProperties", "propertyNames"),
        "maxProperties",
    )
    keywords = Draft202012Validator.VALIDATORS
    changed = {key: _unless_longer(keywords[key], most) for key, most in limited.items()}
    changed["$ref"] = _of_place(keywords["$ref"])
    return extend(Draft202012Validator, changed)  # type: ignore[no-untyped-call]


def _unless_longer(check: Callable[..., Any], most: str) -> Callable[..., Iterator[Failure]]:
    """Make a check that skips a value with more items than the keyword `most` of its schema
    allows."""

    def checked(validator: Any, keyword_value: Any, value: Any, schema: Any) -> Iterator[Failure]:
        """The check as jsonschema calls it. The original one may return None for no errors."""
        kind = list if most == "maxItems" else dict
        if not (isinstance(value, kind) and len(value) > schema.get(most, math.inf)):
            yield from check(validator, keyword_value, value, schema) or ()

    return checked


def _of_place(check: Callable[..., Any]) -> Callable[..., Iterator[Failure]]:
    """Make a check of `$ref` that keeps the description of the place that refers. Many places share
    a definition, which cannot say what the value is for there."""

    def checked(validator: Any, keyword_value: Any, value: Any, schema: Any) -> Iterator[Failure]:
        """The check as jsonschema calls it. The original one may return None for no errors."""
        for error in check(validator, keyword_value, value, schema) or ():
            # `schema` has the `$ref`; its description is of the value. An error deeper in the
            # value, or in the name of one of its keys, needs another description.
            is_value_itself = not error.path and "propertyNames" not in error.schema_path
            if is_value_itself and "description" in schema:
                error.place = schema["description"]
            yield error

    return checked


def _in_words(error: Failure) -> Iterator[SchemaViolation]:
    """Turn an error of jsonschema into misfits in words."""
    if error.context:
        yield from _best_branch(error)
    elif error.validator == "additionalProperties" and isinstance(error.instance, dict):
        yield from _unknown_keys(error)
    elif error.validator == "required":
        yield from _missing_keys(error)
    else:
        yield _simple(error)


def _simple(error: Failure) -> SchemaViolation:
    """Say in words what one keyword of the schema does not allow."""
    keyword_value, keyword = error.validator_value, str(error.validator)
    value = _shown(error.instance)
    path = tuple(error.absolute_path)
    if "propertyNames" in error.schema_path and isinstance(error.instance, str):
        path = (*path, error.instance)  # what does not fit is the key
    if keyword == "enum":
        options = [item if isinstance(item, str) else json.dumps(item) for item in keyword_value]
        found = choices(error.instance, options)
        if found["hint"] is None and PLUGIN_KIND in error.schema:
            found["hint"] = plugins.advice(error.schema[PLUGIN_KIND])
        return SchemaViolation(path, f"{value} is not known here", **found)
    if keyword == "type":
        message = f"must be {_kinds(keyword_value)}, not {value}"
        if (hint := _as_number(error.instance, keyword_value)) is not None:
            return SchemaViolation(path, message, _allowed(error), hint)
    elif keyword == "const":
        message = f"must be {_shown(keyword_value)}, not {value}"
    elif keyword in _BOUNDS:
        message = f"must be {_BOUNDS[keyword].format(keyword_value)}, not {value}"
    elif keyword[3:] in _LENGTHS:
        bound = "at least" if keyword.startswith("min") else "at most"
        noun = _LENGTHS[keyword[3:]] + ("" if keyword_value == 1 else "s")
        message = f"must have {bound} {keyword_value} {noun}"
    elif keyword == "pattern":
        message = f"{value} does not match the required pattern"
    elif keyword == "format":
        message = f"{value} does not have the format {keyword_value}"
    elif keyword == "uniqueItems":
        message = "must not have duplicate items"
    elif keyword == "not":
        message = f"{value} is not allowed here"
    else:
        message = _shortened(error.message)
    return SchemaViolation(path, message, _allowed(error))


def _allowed(error: Failure) -> str | None:
    """Say what the schema allows: its range, then the description of the place that refers to it,
    then its own description or pattern, as far as it has them; empty or None if it has none."""
    schema = error.schema
    if not isinstance(schema, Mapping):
        return None
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        words = f"{least} to {most}"
    elif least is not None or most is not None:
        words = f"{least} or more" if most is None else f"{most} or less"
    else:
        words = ""
    about = schema.get("description") or schema.get("pattern")
    place = getattr(error, "place", None)
    about = " ".join(dict.fromkeys(filter(None, (place, about))))
    return f"{words}: {about}" if words and about else words or about


def _unknown_keys(error: Failure) -> Iterator[SchemaViolation]:
    """Yield a misfit for each key of an object that the schema does not know."""
    known = error.schema.get("properties", {})
    patterns = error.schema.get("patternProperties", {})
    unknown = sorted(error.instance.keys() - known.keys())
    for number, key in enumerate(unknown):
        if not any(re.search(pattern, key) for pattern in patterns):
            message = f"the key {_shortened(key)!r} is not known here"
            # To look for similar keys takes long, and nobody sees the later ones.
            similar = did_you_mean(_shortened(key), known) if number < MOST else None
            about = error.schema.get("description")
            allowed = f"{listing(known)}: {about}" if about else listing(known)
            yield SchemaViolation((*error.absolute_path, key), message, allowed, similar)


def _missing_keys(error: Failure) -> Iterator[SchemaViolation]:
    """Yield a misfit for the missing key that the error is about."""
    # jsonschema gives one error per missing key, and names it only in the message.
    for key in error.validator_value:
        if key not in error.instance and error.message.startswith(repr(key)):
            described = error.schema.get("properties", {}).get(key)
            about = described.get("description") if isinstance(described, dict) else None
            hint = f"{key}: {about}" if about else None
            yield SchemaViolation(
                tuple(error.absolute_path), f"the key {key!r} is missing", hint=hint
            )


def _best_branch(error: Failure) -> Iterator[SchemaViolation]:
    """Yield the misfits of the alternative that was most likely meant: one of the right type, with
    the fewest and deepest misfits. If none has the right type, yield what all of them allow
    together."""
    branches: dict[Any, list[Failure]] = {}
    for child in error.context or ():
        branches.setdefault(child.schema_path[0], []).append(child)
    near = [branch for branch in branches.values() if not any(map(_is_other_kind, branch))]
    if not near:
        yield _together(error)
        return
    best = min(near, key=lambda branch: (len(branch), -max(len(child.path) for child in branch)))
    for child in best:
        yield from _in_words(child)


def _is_other_kind(error: Failure) -> bool:
    """Whether the value itself, not a part of it, has another type or fixed value than the
    alternative."""
    return not error.path and error.validator in ("type", "const", "enum")


def _together(error: Failure) -> SchemaViolation:
    """One misfit for all alternatives: the value fits none, and `allowed` has all that any of them
    would allow."""
    allowed_here: list[str] = []
    options: list[str] = []
    for child in error.context or ():
        if child.validator == "type":
            allowed_here.append(_kinds(child.validator_value))
        elif child.validator in ("const", "enum"):
            is_const = child.validator == "const"
            values = [child.validator_value] if is_const else child.validator_value
            allowed_here += [_shown(item) for item in values]
            options += [str(item) for item in values]
    kinds = [
        kind
        for child in error.context or ()
        if child.validator == "type"
        for kind in _listed(child.validator_value)
    ]
    return SchemaViolation(
        tuple(error.absolute_path),
        f"{_shown(error.instance)} is not allowed here",
        " or ".join(dict.fromkeys(allowed_here)),
        _as_number(error.instance, kinds) or did_you_mean(error.instance, options),
    )


def _as_number(value: object, kinds: str | Iterable[str]) -> str | None:
    """Hint for text that was meant as a number, such as `20M`, `1.5k`, `100`; None for any other
    value, and if none of the `kinds` (JSON Schema types) is a number. Units are in the names of
    keys, such as `rate_bps`, not in values."""
    found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if found is None or not {"integer", "number"} & set(_listed(kinds)):
        return None
    number = float(found[1]) * _MULTIPLES[found[2].lower()]
    return f"a number without quotes and prefixes, in the unit of the key's name: {number:.15g}"


def _listed(kinds: str | Iterable[str]) -> list[str]:
    """Types as a list: a schema names one alone, or a list of them."""
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _kinds(kinds: str | Iterable[str]) -> str:
    """JSON Schema types in words: `an integer or a number`."""
    return " or ".join(_TYPES[kind] for kind in _listed(kinds))


def _shown(value: Any) -> str:
    """A value as in the file, shortened and without passwords."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    # A password in a URL must not appear on the screen.
    hidden = re.sub(r"(://)[^/?#\"]*@", r"\1***@", json.dumps(value, ensure_ascii=False))
    return _shortened(hidden)


def _shortened(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
