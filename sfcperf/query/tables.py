"""The documents of run folders as tables for SQL. A column has its type also without values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sfcperf.analysis.telemetry import CorrelationRow
from sfcperf.errors import InputError
from sfcperf.presentation.levels import level_text
from sfcperf.results import jsonl
from sfcperf.results.noise_gate import Reading
from sfcperf.results.records import FailedAttempt, Summary, TrialRecord
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables.columns import PREFIX, cell, factor_names, level_array
from sfcperf.workflow.document.likeness import alike

if TYPE_CHECKING:
    import pyarrow

Row = Mapping[str, Any]

_TIMES = ("started_at", "ended_at")
_KINDS = {"str": "string", "TrialStatus": "string", "int": "int64", "bool": "bool_"}
"""Annotation of a record's field -> Arrow type. Floats are `float64`; values of any other type
become JSON text."""

_OF_TRIAL = ("scenario_id", "trial_id", "round", "probe", "label", "status")
"""Columns that rows about a trial, such as samples, have of it."""
_ESTIMATE = {
    "estimate": "float64",
    "estimate_low": "float64",
    "estimate_high": "float64",
    "estimate_withheld": "string",
}
"""Columns of a summary: its declared centre (which `centre` names), the ends of its interval, and
why there is none."""
_CLAIMS = {
    **dict.fromkeys(("id", "text", "source", "conditions", "published"), "string"),
    "published_value": "float64",
    "digitised": "bool_",
    **dict.fromkeys(("above", "below"), "float64"),
    **dict.fromkeys(("unit", "per", "margin", "kind", "verdict", "reason"), "string"),
    **dict.fromkeys(("estimate", "low", "high"), "float64"),
    **dict.fromkeys(("rounds", "rounds_needed"), "int64"),
    "warnings": "string",
    "confidence": "float64",
}
"""Columns of a claim: those of claims.json, with `published` as text, and `published_value` if that
is a number; `confidence` is that of all verdicts together."""
_WITH_FACTORS = ("trials", "warmup", "samples", "failed_attempts", "summaries", "scenarios")
"""Tables that have a column for each factor, with the level in the row's `scenario`."""


def read_run(store: RunStore) -> dict[str, list[Row]]:
    """Read a run: name of a table -> the rows that the run has in it. Raises InputError if the run
    folder is damaged."""
    manifest, trials, warmups = store.manifest(), store.trials(), store.warmups()
    scenarios = {entry["id"]: entry["levels"] for entry in manifest["scenarios"]}
    # A library may write a run.json without scenarios; trials always have their levels.
    scenarios |= {record.scenario_id: record.scenario for record in trials}
    tags = (store.document(RunFile.TAGS) or {}).get("tags", [])
    rows: dict[str, Iterable[Row]] = {
        "runs": [_run(store, manifest)],
        "trials": map(vars, trials),
        "warmup": map(vars, warmups),
        "samples": (row for trial in trials for row in _samples(trial)),
        "failed_attempts": (
            {**_common(trial), **vars(failed)}
            for trial in [*warmups, *trials]
            for failed in trial.failed_attempts
        ),
        "summaries": map(_summary, store.summaries()),
        "claims": _claims(store.document(RunFile.CLAIMS)),
        "tags": ({**tag, "value": level_text(tag["value"])} for tag in tags),
        "correlations": (store.document(RunFile.CORRELATIONS) or {}).get("correlations", []),
        "gate": (row for _, row in jsonl.read(store.folder / RunFile.GATE)),
        "scenarios": ({"scenario_id": id, "scenario": found} for id, found in scenarios.items()),
    }
    return {name: [{"run_id": store.run_id, **row} for row in rows[name]] for name in rows}


def tables(runs: Sequence[Mapping[str, list[Row]]]) -> dict[str, pyarrow.Table]:
    """Make the tables of all runs together, by name; `run_id` is the first column of each.

    A level of a factor has the type that fits it in all runs; a run without that factor has null.
    Raises InputError if factors of different runs have one name in SQL.
    """
    factors = factor_names(row["scenario"] for run in runs for row in run["scenarios"])
    for known, name in alike(factors):
        raise InputError(
            f"the runs have the factors {known!r} and {name!r}, which SQL takes for one",
            hint="query the runs one by one" if len(runs) > 1 else None,
        )
    return {
        name: _table(
            {"run_id": "string", **columns},
            [row for run in runs for row in run[name]],
            factors if name in _WITH_FACTORS else (),
        )
        for name, columns in _columns().items()
    }


def _columns() -> dict[str, dict[str, str]]:
    """Map the name of each table to its columns and their types, without `run_id` and the levels of
    factors."""
    trials = _record_columns(TrialRecord)
    del trials["samples"]
    attempts = {name: trials[name] for name in _OF_TRIAL} | _record_columns(FailedAttempt)
    return {
        "runs": {
            "name": "string",
            "description": "string",
            "status": "string",
            "started_at": "time",
            "ended_at": "time",
            "driver": "string",
            "seed": "int64",
            "confidence": "float64",
            "rounds": "int64",
            "folder": "string",
            "manifest": "string",
        },
        "trials": trials,
        "warmup": trials,
        "samples": {
            **{name: trials[name] for name in _OF_TRIAL},
            "sample": "int64",
            "metric": "string",
            "unit": "string",
            "value": "float64",
        },
        "failed_attempts": attempts,
        "summaries": {**_record_columns(Summary), **_ESTIMATE},
        "claims": _CLAIMS,
        "tags": dict.fromkeys(("subject", "id", "tag", "value", "file"), "string"),
        "correlations": _record_columns(CorrelationRow),
        "gate": _record_columns(Reading),
        "scenarios": {"scenario_id": "string"},
    }


def _summary(row: Summary) -> Row:
    """Return the row of a summary, with the centre that the workflow declares in columns of its
    own: queries need not choose between the columns of mean and median."""
    estimate = row.estimate()
    values = (estimate.value, estimate.low, estimate.high, estimate.withheld)
    return {**vars(row), **dict(zip(_ESTIMATE, values, strict=True))}


def _claims(document: Mapping[str, Any] | None) -> Iterator[Row]:
    """Yield the rows of claims.json; None: the run has none."""
    if document is None:
        return
    for row in document["claims"]:
        published = row["published"]
        is_text = published is None or isinstance(published, str)
        yield {
            **row,
            "published": published if is_text else level_text(published),
            "published_value": None if is_text else published,
            "confidence": document["confidence"],
        }


def _run(store: RunStore, manifest: Mapping[str, Any]) -> Row:
    """Return the row of a run; the column `manifest` has all of run.json as JSON text."""
    design = manifest["design"]
    return {
        **manifest,
        **{name: design[name] for name in ("seed", "confidence", "rounds")},
        "folder": str(store.shown_folder),
        "manifest": json.dumps(manifest),
    }


def _samples(trial: TrialRecord) -> Iterator[Row]:
    """Yield the rows of a trial's samples, numbered from 0."""
    for number, sample in enumerate(trial.samples):
        yield {**_common(trial), "sample": number, **sample}


def _common(trial: TrialRecord) -> dict[str, Any]:
    """Return the columns that rows about a trial have of it, and its scenario."""
    return {name: getattr(trial, name) for name in (*_OF_TRIAL, "scenario")}


def _record_columns(record: type[Any]) -> dict[str, str]:
    """Derive the columns of a table from a record class: name of a field -> Arrow type, by its
    annotation; `time` for moments."""
    columns = {}
    for field in fields(record):
        annotation = str(field.type).removesuffix(" | None")
        kind = "float64" if annotation == "float" else _KINDS.get(annotation, "string")
        columns[field.name] = "time" if field.name in _TIMES else kind
    return columns


def _table(
    columns: Mapping[str, str], rows: Sequence[Row], factors: Sequence[str]
) -> pyarrow.Table:
    """Make a table of rows, with the levels of `factors` in further columns."""
    import pyarrow

    arrays = {name: _array(name, kind, rows) for name, kind in columns.items()}
    for factor in factors:
        levels = [row.get("scenario", {}).get(factor) for row in rows]
        arrays[PREFIX + factor] = level_array(levels)
    return pyarrow.table(arrays)


def _array(name: str, kind: str, rows: Sequence[Row]) -> pyarrow.Array:
    """Return the column `name` of the rows; null where a row lacks it. `kind`: an Arrow type, or
    `time`."""
    import pyarrow

    if kind == "time":
        times = [_time(row.get(name)) for row in rows]
        return pyarrow.array(times, pyarrow.timestamp("us"))
    return pyarrow.array([cell(_plain(row.get(name))) for row in rows], getattr(pyarrow, kind)())


def _plain(value: Any) -> Any:
    """Turn a mapping of any kind into a dict; other values stay as they are."""
    return dict(value) if isinstance(value, Mapping) else value


def _time(text: Any) -> datetime | None:
    """Convert a moment to UTC without a zone, because SQL compares that with plain literals; None
    stays None. Raises InputError for anything else."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    except (TypeError, ValueError) as error:
        raise InputError(f"this is no time: {text!r}", hint="the run folder is damaged") from error
