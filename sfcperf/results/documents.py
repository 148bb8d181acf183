"""Between records (values) and the JSON that a run folder holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import PurePath
from typing import Any, get_args

from sfcperf import strict_json
from sfcperf.errors import InputError, MeasurementError
from sfcperf.results.records import SCHEMA_VERSION, Summary, TrialRecord, TrialStatus

MAX_MAGNITUDE = 1e100
"""No quantity is larger; up to here squares and sums of squares are finite."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")


def is_safe_name(name: str) -> bool:
    """Whether a run's or trial's id may name a folder: none may lead out of where it belongs."""
    return _SAFE_NAME.fullmatch(name) is not None


def is_number(value: object) -> bool:
    """Whether it is a quantity: neither NaN nor infinite, nor larger than any there is."""
    if not isinstance(value, (float, int)) or isinstance(value, bool):
        return False
    # Not true for NaN and infinities either.
    return abs(value) <= MAX_MAGNITUDE


def damaged(what: str, where: str) -> InputError:
    """The error for a run folder that cannot be read."""
    return InputError(
        f"the run folder is damaged: {what}",
        where=where,
        hint="restore the file from a copy; nothing was changed",
    )


def parse(content: bytes, where: str) -> dict[str, Any]:
    """The JSON object in a file or line. Raises InputError if there is none."""
    try:
        document = strict_json.loads(content)
    except ValueError as error:
        raise damaged(f"not JSON: {error}", where) from error
    if not isinstance(document, dict):
        raise damaged("not a JSON object", where)
    return document


def check_version(document: Mapping[str, Any], where: str) -> None:
    """Refuse a document of another schema version than this SFCPerf reads.

    Raises InputError. There is no older version yet than the one that is written; the first
    change of format brings its upgrade here.
    """
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


def trial_document(record: TrialRecord) -> str:
    """A line of trials.jsonl, without its end.

    Raises MeasurementError when a sample is not a finite number: JSON has no word for it, and it
    is no measurement.
    """
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
    """A trial from its line. Raises InputError for one that is not as schemas/trial says."""
    check_version(row, where)
    values = _values(TrialRecord, row, where)
    if values["status"] not in get_args(TrialStatus):
        raise damaged(f"status is {values['status']!r}", where)
    if not is_safe_name(values["trial_id"]):
        raise damaged(f"trial_id is {values['trial_id']!r}", where)
    for index, sample in enumerate(values["samples"]):
        problem = _sample_problem(sample)
        if problem:
            raise damaged(f"sample {index} {problem}", where)
    return TrialRecord(**values)


def summary_row(found: Summary) -> dict[str, Any]:
    """A row of summary.json. Not by `asdict`: that copies each number of thousands of rows."""
    return {field.name: getattr(found, field.name) for field in fields(found)}


def summary(row: Any, where: str) -> Summary:
    """A row of summary.json. Raises InputError for one that is not as schemas/summary says."""
    if not isinstance(row, dict):
        raise damaged("not a JSON object", where)
    return Summary(**_values(Summary, row, where))


def plain(value: Any) -> Any:
    """What JSON cannot write by itself: read-only mappings, paths, sets."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} does not belong into a run folder: {value!r}")


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "int | None": (int, type(None)),
    "TrialStatus": (str,),
    "Mapping[str, Any]": (dict,),
    "Mapping[str, int]": (dict,),
    "tuple[str, ...]": (list,),
    "tuple[Mapping[str, Any], ...]": (list,),
}
"""Annotation of a record's attribute -> types of its JSON value."""


def _values(record: type[TrialRecord] | type[Summary], row: Mapping[str, Any], where: str) -> Any:
    """Arguments for the record; keys that it does not know are left out."""
    values: dict[str, Any] = {}
    for name, kinds, strings, required in _ATTRIBUTES[record]:
        if name in row:
            value: Any = row[name]
            # What JSON gives is of these very types, and true is no number.
            kind = type(value)
            if kind not in kinds or (strings and not all(type(item) is str for item in value)):
                raise damaged(f"{name} is {value!r}", where)
            values[name] = tuple(value) if kind is list else value
        elif required:
            raise damaged(f"{name} is missing", where)
    return values


_Attribute = tuple[str, tuple[type, ...], bool, bool]


def _attributes_of(record: type[TrialRecord] | type[Summary]) -> tuple[_Attribute, ...]:
    """Name, types of the JSON value, whether it is a list of strings, whether it must be there."""
    return tuple(
        (
            field.name,
            _KINDS[str(field.type)],
            field.type == "tuple[str, ...]",
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(record)
    )


_ATTRIBUTES: Mapping[type, tuple[_Attribute, ...]] = {
    TrialRecord: _attributes_of(TrialRecord),
    Summary: _attributes_of(Summary),
}
"""Looked up once, not for each of thousands of lines."""


def _sample_problem(sample: Any) -> str | None:
    if not isinstance(sample, dict):
        return "is not an object"
    if not isinstance(sample.get("metric"), str):
        return "has no metric"
    if not isinstance(sample.get("unit"), str):
        return "has no unit"
    value = sample.get("value")
    if is_number(value):
        return None
    is_some = isinstance(value, (float, int)) and not isinstance(value, bool)
    return "has no finite value" if is_some else "has no value"
