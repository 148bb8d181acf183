"""Read a JSON document strictly: what a reader could misunderstand is an error.

Beyond RFC 8259: no duplicate keys, no NaN or Infinity, numbers that fit in 64 bits, no control
characters and no lone surrogates in strings (they would end up in file names and command lines),
bounded size and depth. A number without a fraction is an integer, however it is written
(JSON Schema 2020-12, section 4.2.3).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.workflow import pointer
from sfcperf.workflow.findings import Findings

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
_MAX_NUMBER = 2**63 - 1
_MAX_DIGITS = 20


class _Duplicate(dict[str, Any]):
    """An object with a key that is there twice."""

    key: str


def read_document(path: Path, what: str = "workflow") -> dict[str, Any]:
    """The JSON object in a file; `what` it is, for messages.

    Raises InputError (`where`: the file, for a syntax error with line and column) or WorkflowError
    (`where`: JSON pointer).
    """
    document = clean(parse(_read(path, what), str(path)))
    if not isinstance(document, dict):
        raise InputError(f"a {what} is a JSON object", where=str(path), allowed="{...}")
    return document


def parse(text: str, source: str) -> Any:
    """JSON text as values; `clean` must follow. Raises InputError with line and column."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg}", where=f"{source}:{error.lineno}:{error.colno}"
        ) from None
    except RecursionError:
        raise InputError(
            "nested too deeply", where=source, allowed=f"up to {MAX_DEPTH} levels"
        ) from None


def clean(value: Any) -> Any:
    """A deep copy in plain JSON types. Raises WorkflowError for what is not allowed in it."""
    findings = Findings()
    copy = _clean(value, (), findings)
    findings.raise_any()
    return copy


def _read(path: Path, what: str) -> str:
    try:
        if path.is_dir():
            raise InputError(f"this is a folder, not a {what} file", where=str(path))
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"the file cannot be read: {reason}",
            where=str(path),
            hint="`sfcperf list workflows` names those that come with SFCPerf"
            if what == "workflow"
            else None,
        ) from error
    if len(content) > MAX_BYTES:
        raise InputError("the file is too large", where=str(path), allowed=f"{MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: byte {error.start}", where=str(path)) from None


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    twice: str | None = None
    for key, value in pairs:
        twice = key if key in result else twice
        result[key] = value
    if twice is None:
        return result
    duplicate = _Duplicate(result)
    duplicate.key = twice
    return duplicate


def _integer(literal: str) -> int | float:
    # Python refuses to convert thousands of digits; `_clean` reports infinity with its place.
    return int(literal) if len(literal) <= _MAX_DIGITS else math.inf


def _clean(value: Any, at: pointer.Path, findings: Findings) -> Any:
    where = pointer.to_pointer(at)
    if len(at) > MAX_DEPTH:
        findings.add(where, "nested too deeply", allowed=f"up to {MAX_DEPTH} levels")
        return None
    if isinstance(value, Mapping):
        return _clean_object(value, at, findings)
    if isinstance(value, str):
        _check_text(value, at, findings, "text")
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _clean_number(value, where, findings)
    if isinstance(value, Sequence):
        return [_clean(item, (*at, index), findings) for index, item in enumerate(value)]
    findings.add(where, f"not a JSON value: {type(value).__name__}")
    return None


def _clean_object(value: Mapping[Any, Any], at: pointer.Path, findings: Findings) -> dict[str, Any]:
    if isinstance(value, _Duplicate):
        findings.add(pointer.to_pointer((*at, value.key)), f"the key {value.key!r} is there twice")
    copy: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            findings.add(pointer.to_pointer(at), f"the key {key!r} is not a text")
            continue
        _check_text(key, at, findings, "key")
        copy[key] = _clean(item, (*at, key), findings)
    return copy


def _clean_number(value: int | float, where: str, findings: Findings) -> int | float:
    if not math.isfinite(value) or abs(value) > _MAX_NUMBER:
        findings.add(where, "not a number that fits in 64 bits", allowed="finite, up to 2^63 - 1")
        return 0
    return int(value) if value == int(value) else value


def _check_text(text: str, at: pointer.Path, findings: Findings, what: str) -> None:
    lines = at == ("description",) and what == "text"
    bad = [
        character
        for character in text
        if (ord(character) < 0x20 and not (lines and character in "\n\t"))
        or 0x7F <= ord(character) < 0xA0
        or 0xD800 <= ord(character) < 0xE000
    ]
    if bad:
        findings.add(
            pointer.to_pointer(at),
            f"a {what} here contains the control character {bad[0]!a}",
            allowed="printable characters",
        )
