"""Converts records (values) to the JSON of a run folder, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from pathlib import PurePath
from typing import Any, TypeVar, get_args

from sfcperf import strict_json
from sfcperf.errors import InputError, MeasurementError
from sfcperf.results.records import (
    SCHEMA_VERSION,
    FailedAttempt,
    FailureKind,
    Summary,
    TrialRecord,
    TrialStatus,
)
from sfcperf.results.schema_check import misfit
from sfcperf.results.values import Loss
from sfcperf.workflow.document.pointer import is_index

T = TypeVar("T")

MAX_MAGNITUDE = 1e100
"""Largest magnitude of a quantity. Squares and sums of squares of such values are still finite."""

MAX_DOCUMENT_BYTES = 32 << 20
"""Largest size of a document, or of a line of one, that is read into memory. The largest documents
are summaries, with 2 kB for each row."""
MAX_VALUES = 1_000_000
"""Largest number of JSON values in a document or line: each takes up to 120 bytes of memory."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")


def is_safe_name(name: str) -> bool:
    """Whether a run's or trial's id may name a folder: it must not lead out of its parent."""
    return _SAFE_NAME.fullmatch(name) is not None


def is_number(value: object) -> bool:
    """Whether a JSON value is a quantity: a finite number of at most MAX_MAGNITUDE."""
    if not isinstance(value, (float, int)) or isinstance(value, bool):
        return False
    # This is also False for NaN and infinities.
    return abs(value) <= MAX_MAGNITUDE


def damaged(what: str, where: str) -> InputError:
    """Return the error for a run folder that cannot be read."""
    return InputError(
        f"the run folder is damaged: {what}",
        where=where,
        hint="restore the file from a copy; nothing was changed",
    )


def parse(content: bytes, where: str) -> dict[str, Any]:
    """Parse the JSON object in a file or line. Raises InputError if there is none."""
    try:
        document = strict_json.loads(content, bounded=True, max_values=MAX_VALUES)
    except ValueError as error:
        raise damaged(f"not JSON: {error}", where) from error
    if not isinstance(document, dict):
        raise damaged("not a JSON object", where)
    return document


def check_version(document: Mapping[str, Any], where: str) -> None:
    """Raise InputError for a document of a schema version that this SFCPerf does not read."""
    version = document.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise damaged(f"schema_version is {version!r}", where)
    if version > SCHEMA_VERSION:
        raise InputError(
            f"written by a newer SFCPerf: schema_version {version}",
            where=where,
            allowed=f"schema_version {SCHEMA_VERSION}",
            hint="read it with the SFCPerf that wrote it, or a newer one",
        )


def check_schema(schema: str, document: Mapping[str, Any], where: str) -> None:
    """Raise InputError, which names the place, for a document that does not match
    `schemas/SCHEMA.schema.json`. Readers then need not check the type of each key."""
    wrong = misfit(schema, document)
    if wrong is not None:
        pointer, message = wrong
        raise damaged(message, f"{where}#{pointer}" if pointer else where)


def trial_document(record: TrialRecord) -> str:
    """Return a trial as a line of trials.jsonl, without its newline. Raises MeasurementError if a
    sample is no quantity (`is_number`), or if another number is not finite, which JSON cannot
    express."""
    for sample in record.samples:
        problem = _sample_problem(sample)
        if problem:
            raise MeasurementError(
                f"a sample of {record.label} {problem}: {sample}",
                where=f"trial {record.trial_id}",
                allowed=f"finite numbers up to {MAX_MAGNITUDE:g} in magnitude",
            )
    row = {field.name: getattr(record, field.name) for field in fields(record)}
    try:
        return json.dumps({"schema_version": SCHEMA_VERSION, **row}, allow_nan=False, default=plain)
    except ValueError as error:
        raise MeasurementError(
            f"the record of {record.label} cannot be written: {error}",
            where=f"trial {record.trial_id}",
            allowed="finite numbers, also in notes and facts",
        ) from error


def trial_record(row: Mapping[str, Any], where: str) -> TrialRecord:
    """Return the trial that a line of trials.jsonl holds. Raises InputError if the line does not
    match schemas/trial.schema.json."""
    check_version(row, where)
    record = read_record(TrialRecord, row, where)
    if record.status not in get_args(TrialStatus):
        raise damaged(f"status is {record.status!r}", where)
    if not is_safe_name(record.trial_id):
        raise damaged(f"trial_id is {record.trial_id!r}", where)
    for index, sample in enumerate(record.samples):
        problem = _sample_problem(sample)
        if problem:
            raise damaged(f"sample {index} {problem}", where)
    for failed in record.failed_attempts:
        if failed.kind not in get_args(FailureKind):
            raise damaged(f"the kind of a failed attempt is {failed.kind!r}", where)
    if record.loss is not None and not 0 <= record.loss.lost <= record.loss.total:
        raise damaged(f"{record.loss.lost} of {record.loss.total} were lost", where)
    return record


def summary_row(found: Summary) -> dict[str, Any]:
    """Return a summary as a row of summary.json. `dataclasses.asdict` would be slow for thousands
    of rows, as it copies each value."""
    return {field.name: getattr(found, field.name) for field in fields(found)}


def summary(row: Any, where: str) -> Summary:
    """Return the summary that a row of summary.json holds. Raises InputError if the row does not
    match schemas/summary.schema.json."""
    if not isinstance(row, dict):
        raise damaged("not a JSON object", where)
    return read_record(Summary, row, where)


def at_path(value: Any, path: str) -> Any:
    """Return the value at a path such as `a.b.0` in nested objects and lists; None if there is
    none."""
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and is_index(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def plain(value: Any) -> Any:
    """Convert a value that json cannot write into one that it can: a read-only mapping, a path, a
    set, a dataclass. It is the `default` of json.dumps. Raises TypeError for other values."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON: {value!r}")


_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "int | None": (int, type(None)),
    "TrialStatus": (str,),
    "FailureKind": (str,),
    "Mapping[str, Any]": (dict,),
    "Mapping[str, int]": (dict,),
    "tuple[str, ...]": (list,),
    "tuple[Mapping[str, Any], ...]": (list,),
    "tuple[FailedAttempt, ...]": (list,),
    "Loss | None": (dict, type(None)),
}
"""Annotation of a record's attribute -> types of its JSON value."""
_INNER: Mapping[str, type[Any]] = {"tuple[FailedAttempt, ...]": FailedAttempt, "Loss | None": Loss}
"""Annotation of an attribute -> the record into which its JSON objects are turned."""


def read_record(record: type[T], row: Mapping[str, Any], where: str) -> T:
    """Make a record (a dataclass whose attributes have the types in `_JSON_TYPES`) from a JSON
    object. Raises InputError if a key for an attribute is missing, or its value has another type.
    Other keys are ignored."""
    values: dict[str, Any] = {}
    for name, types, strings, inner in _attributes_of(record):  # type: ignore[arg-type]
        if name not in row:
            raise damaged(f"{name} is missing", where)
        value: Any = row[name]
        # Types must be exactly these: `isinstance` would take true for a number.
        kind = type(value)
        if kind not in types or (strings and not all(type(item) is str for item in value)):
            raise damaged(f"{name} is {value!r}", where)
        if inner is not None and value is not None:
            value = _inner(inner, name, value, where)
        values[name] = tuple(value) if kind is list else value
    return record(**values)


def _inner(record: type[Any], name: str, value: Any, where: str) -> Any:
    """Make the record that an attribute holds, or each record of a list."""
    if isinstance(value, list):
        return [_inner(record, name, item, where) for item in value]
    if not isinstance(value, dict):
        raise damaged(f"{name} has {value!r}", where)
    return read_record(record, value, f"{where}, {name}")


@cache
def _attributes_of(
    record: Any,
) -> tuple[tuple[str, tuple[type, ...], bool, type[Any] | None], ...]:
    """Return for each attribute of a record: its name, the types of its JSON value, whether it is a
    list of strings, and the record that it consists of (or None). This is cached, as thousands of
    lines need it."""
    return tuple(
        (
            field.name,
            _JSON_TYPES[str(field.type)],
            field.type == "tuple[str, ...]",
            _INNER.get(str(field.type)),
        )
        for field in fields(record)
    )


def _sample_problem(sample: Any) -> str | None:
    """Say what is wrong with a sample of a trial; None if nothing is."""
    if not isinstance(sample, dict):
        return "is not an object"
    if not isinstance(sample.get("metric"), str):
        return "has no metric"
    if not isinstance(sample.get("unit"), str):
        return "has no unit"
    value = sample.get("value")
    if is_number(value):
        return None
    is_numeric = isinstance(value, (float, int)) and not isinstance(value, bool)
    return "has no finite value" if is_numeric else "has no value"
