"""Reads a JSON document that a person wrote, strictly, and reports all errors with their paths.

Beyond RFC 8259: no duplicate keys, no NaN or Infinity, numbers of 64 bits, no control characters
and no lone surrogates in strings (which would end up in file names and command lines), bounded
size and depth. A number without a fraction is an integer, however it is written (JSON Schema
2020-12, section 4.2.3).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError, WorkflowError
from sfcperf.input_file import read_input
from sfcperf.workflow.document import limits, pointer
from sfcperf.workflow.document.findings import Findings

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
ALLOWED = f"up to {limits.MAX_VALUES} values (text counts as one for each 100 characters)"
_MAX_NUMBER = 2**63 - 1
_MAX_DIGITS = 20
_REASONS = {
    "Expecting value": "a value is missing here",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing in front of this",
    "Expecting ':' delimiter": "a colon is missing in front of this",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing here",
    "Unterminated string starting at": "this string does not end",
    "Invalid control character at": "line breaks and tabs in strings are written \\n and \\t",
    "Extra data": "the document ends before this",
}
"""Message of Python's json -> the same in the user's words, at the place that it names."""


class _Duplicate(dict[str, Any]):
    """An object with a duplicate key, which `clean` reports with its path."""

    key: str


def read_document(path: Path, what: str = "workflow") -> dict[str, Any]:
    """Read the JSON object in a file; `what` names it in messages.

    Raises InputError (`where`: the file, for a syntax error with line and column) or WorkflowError
    (`where`: JSON pointer).
    """
    document = clean(parse(_read(path, what), str(path)))
    if not isinstance(document, dict):
        raise InputError(f"a {what} is a JSON object", where=str(path), allowed="{...}")
    return document


def parse(text: str, source: str) -> Any:
    """Parse JSON text to values that `clean` has to check. Raises InputError with line and
    column."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except json.JSONDecodeError as error:
        where = f"{source}:{error.lineno}:{error.colno}"
        raise InputError(f"not JSON: {_why(text, error)}", where=where) from None
    except RecursionError:
        raise InputError(
            "nested too deeply", where=source, allowed=f"up to {MAX_DEPTH} levels"
        ) from None


def _why(text: str, error: json.JSONDecodeError) -> str:
    """Say in words why text is not JSON."""
    if not text.strip():
        return "the file is empty"
    if reason := _not_in_json(text, error.pos):
        return reason
    if not text[error.pos :].strip():
        return "it ends here, before it is complete"
    return _REASONS.get(error.msg, error.msg)


def _not_in_json(text: str, at: int) -> str | None:
    """Name what other formats have and JSON has not, if that is at this place; None otherwise."""
    rest = text[at : at + 2]
    if rest in ("//", "/*") or rest[:1] == "#":
        return "it has no comments; a `description` can take their place"
    if rest[:1] in ("}", "]") and text[:at].rstrip().endswith(","):
        return f"there must be no comma in front of {rest[:1]!r}"
    if rest[:1] == "'":
        return "strings are in double quotes"
    return None


def clean(value: Any) -> Any:
    """Copy a value in plain JSON types. Raises WorkflowError for values that are not allowed, or if
    there are too many."""
    findings = Findings()
    copy = _clean(value, (), findings)
    findings.raise_any()
    count = limits.size(copy)
    if count > limits.MAX_VALUES:
        where = pointer.to_pointer(limits.largest(copy))
        raise WorkflowError(
            f"{count} values, most of them here, are too many", where=where, allowed=ALLOWED
        )
    return copy


def _read(path: Path, what: str) -> str:
    """Read the text of a file. Raises InputError; for a run folder, its hint is the workflow
    there, for a pipe such as that of `<(...)`, a file."""
    hint = "`sfcperf list workflows` lists the shipped workflows" if what == "workflow" else None
    if hint and (inside := path / "workflow.json").is_file():
        hint = f"perhaps {inside}; `sfcperf resume` continues a run"
    if path.is_fifo():
        hint = f"this is a pipe, such as that of `<(...)`: write the {what} to a file first"
    content = read_input(path, f"the {what} file", max_bytes=MAX_BYTES, hint=hint)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: byte {error.start}", where=str(path)) from None


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs. One with a duplicate key is marked, since its path is not known
    here."""
    result: dict[str, Any] = {}
    repeated: str | None = None
    for key, value in pairs:
        repeated = key if key in result else repeated
        result[key] = value
    if repeated is None:
        return result
    duplicate = _Duplicate(result)
    duplicate.key = repeated
    return duplicate


def _integer(literal: str) -> int | float:
    """Convert an integer of the document; infinity if it has too many digits."""
    # Python refuses to convert thousands of digits; `_clean` reports infinity with its path.
    return int(literal) if len(literal) <= _MAX_DIGITS else math.inf


def _clean(value: Any, at: pointer.Path, findings: Findings) -> Any:
    """Copy a value in plain JSON types; add what is not allowed to the findings. In its place, the
    copy has None or 0: a copy with findings is not used."""
    if len(at) > MAX_DEPTH:
        findings.add(at, "nested too deeply", allowed=f"up to {MAX_DEPTH} levels")
        return None
    if isinstance(value, Mapping):
        return _clean_object(value, at, findings)
    if isinstance(value, str):
        _check_text(value, at, findings, "string")
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _clean_number(value, at, findings)
    if isinstance(value, Sequence):
        return [_clean(item, (*at, index), findings) for index, item in enumerate(value)]
    findings.add(at, f"not a JSON value: {type(value).__name__}")
    return None


def _clean_object(value: Mapping[Any, Any], at: pointer.Path, findings: Findings) -> dict[str, Any]:
    """Copy an object in plain JSON types; report duplicate keys, and leave out keys that are no
    strings."""
    if isinstance(value, _Duplicate):
        findings.add((*at, value.key), f"duplicate key {value.key!r}")
    copy: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            findings.add(at, f"the key {key!r} is not a string")
            continue
        _check_text(key, at, findings, "key")
        copy[key] = _clean(item, (*at, key), findings)
    return copy


def _clean_number(value: int | float, at: pointer.Path, findings: Findings) -> int | float:
    """Return a number, as an integer if it has no fraction; 0, and reported, if it is too large."""
    if not math.isfinite(value) or abs(value) > _MAX_NUMBER:
        findings.add(at, "not a number that fits in 64 bits", allowed="finite, up to 2^63 - 1")
        return 0
    return int(value) if value == int(value) else value


def _check_text(text: str, at: pointer.Path, findings: Findings, what: str) -> None:
    """Report control characters and lone surrogates. Only the document's `description` may have
    line breaks and tabs."""
    lines = at == ("description",) and what == "string"
    bad = [
        character
        for character in text
        if (ord(character) < 0x20 and not (lines and character in "\n\t"))
        or 0x7F <= ord(character) < 0xA0
        or 0xD800 <= ord(character) < 0xE000
    ]
    if bad:
        message = f"this {what} contains the control character {bad[0]!a}"
        hint = "several lines of text are a list of strings" if "\n" in bad else None
        findings.add(at, message, allowed="printable characters", hint=hint)
