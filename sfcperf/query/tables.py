"""The documents of run folders as tables for SQL, with a type for each column whatever is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sfcperf.analysis.telemetry import CorrelationRow
from sfcperf.errors import InputError
from sfcperf.results import documents, jsonl
from sfcperf.results.columns import PREFIX, cell, factor_names, level_array
from sfcperf.results.noise_gate import Reading
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunFile, RunStore

if TYPE_CHECKING:
    import pyarrow

Row = Mapping[str, Any]

_TIMES = ("started_at", "ended_at")
_KINDS = {"str": "string", "TrialStatus": "string", "int": "int64", "bool": "bool_"}
"""Annotation of a record's field -> Arrow type; floats are `float64`, all else is JSON text."""

_RUNS = {
    "run_id": "string",
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
}
_SAMPLES = {
    "trial_id": "string",
    "round": "int64",
    "probe": "string",
    "label": "string",
    "status": "string",
    "sample": "int64",
    "metric": "string",
    "unit": "string",
    "value": "float64",
}
_TAGS = {"subject": "string", "id": "string", "tag": "string", "value": "string", "file": "string"}


@dataclass(frozen=True)
class RunDocuments:
    """What was read of a run folder."""

    store: RunStore
    manifest: Mapping[str, Any]
    trials: Sequence[TrialRecord]
    warmup: Sequence[TrialRecord]
    summaries: Sequence[Summary]
    tags: Sequence[Mapping[str, Any]]
    correlations: Sequence[Mapping[str, Any]]
    gate: Sequence[Mapping[str, Any]]


def read_run(store: RunStore) -> RunDocuments:
    """Raises InputError when the run folder is damaged."""
    path = store.folder / RunFile.WARMUP
    warmup = [documents.trial_record(row, f"{path}:{line}") for line, row in jsonl.read(path)]
    return RunDocuments(
        store,
        store.manifest(),
        store.trials(),
        warmup,
        store.summaries(),
        (store.document(RunFile.TAGS) or {}).get("tags", []),
        (store.document(RunFile.CORRELATIONS) or {}).get("correlations", []),
        [row for _, row in jsonl.read(store.folder / RunFile.GATE)],
    )


def tables(runs: Sequence[RunDocuments]) -> dict[str, pyarrow.Table]:
    """Name -> table, of all runs together; `run_id` is the first column of each.

    A level of a factor has the type that fits it in all runs; a run without that factor has null.
    """
    factors = factor_names(scenario for run in runs for scenario in _scenarios(run).values())
    trial_columns = _record_columns(TrialRecord, without=("samples",))
    summary_columns = _record_columns(Summary)
    return {
        "runs": _table(_RUNS, [_run(run) for run in runs], ()),
        "trials": _table(trial_columns, _records(runs, lambda run: run.trials), factors),
        "warmup": _table(trial_columns, _records(runs, lambda run: run.warmup), factors),
        "samples": _table(
            {"run_id": "string", "scenario_id": "string", **_SAMPLES},
            [row for run in runs for trial in run.trials for row in _samples(run, trial)],
            factors,
        ),
        "summaries": _table(summary_columns, _records(runs, lambda run: run.summaries), factors),
        "tags": _table(
            {"run_id": "string", **_TAGS},
            [
                {"run_id": _id(run), **tag, "value": _tag_text(tag)}
                for run in runs
                for tag in run.tags
            ],
            (),
        ),
        "correlations": _table(
            _record_columns(CorrelationRow),
            [{"run_id": _id(run), **row} for run in runs for row in run.correlations],
            (),
        ),
        "gate": _table(
            _record_columns(Reading),
            [{"run_id": _id(run), **row} for run in runs for row in run.gate],
            (),
        ),
        "scenarios": _table(
            {"run_id": "string", "scenario_id": "string"},
            [
                {"run_id": _id(run), "scenario_id": scenario_id, "scenario": levels}
                for run in runs
                for scenario_id, levels in _scenarios(run).items()
            ],
            factors,
        ),
    }


def _id(run: RunDocuments) -> str:
    return run.store.run_id


def _scenarios(run: RunDocuments) -> dict[str, Mapping[str, Any]]:
    """Scenario id -> levels."""
    planned = {entry["id"]: entry["levels"] for entry in run.manifest.get("scenarios", [])}
    return {**planned, **{record.scenario_id: record.scenario for record in run.trials}}


def _run(run: RunDocuments) -> Row:
    design = run.manifest.get("design") or {}
    return {
        **{name: run.manifest.get(name) for name in _RUNS},
        **{name: design.get(name) for name in ("seed", "confidence", "rounds")},
        "run_id": _id(run),
        "folder": str(run.store.folder),
        "manifest": json.dumps(run.manifest),
    }


def _records(
    runs: Iterable[RunDocuments], of: Callable[[RunDocuments], Sequence[Any]]
) -> list[Row]:
    return [{"run_id": _id(run), **vars(record)} for run in runs for record in of(run)]


def _samples(run: RunDocuments, trial: TrialRecord) -> list[Row]:
    common = {"run_id": _id(run), **vars(trial)}
    return [{**common, "sample": n, **sample} for n, sample in enumerate(trial.samples)]


def _tag_text(tag: Mapping[str, Any]) -> str:
    value = tag["value"]
    return value if isinstance(value, str) else json.dumps(value)


def _record_columns(record: type[Any], without: Sequence[str] = ()) -> dict[str, str]:
    columns = {"run_id": "string"}
    for field in fields(record):
        if field.name not in without:
            annotation = str(field.type).removesuffix(" | None")
            kind = "float64" if annotation == "float" else _KINDS.get(annotation, "string")
            columns[field.name] = "time" if field.name in _TIMES else kind
    return columns


def _table(
    columns: Mapping[str, str], rows: Sequence[Row], factors: Sequence[str]
) -> pyarrow.Table:
    import pyarrow

    arrays = {name: _array(name, kind, rows) for name, kind in columns.items()}
    for factor in factors:
        levels = [row.get("scenario", {}).get(factor) for row in rows]
        arrays[PREFIX + factor] = level_array(levels)
    return pyarrow.table(arrays)


def _array(name: str, kind: str, rows: Sequence[Row]) -> pyarrow.Array:
    import pyarrow

    if kind == "time":
        times = [_time(row.get(name)) for row in rows]
        return pyarrow.array(times, pyarrow.timestamp("us"))
    return pyarrow.array([cell(_plain(row.get(name))) for row in rows], getattr(pyarrow, kind)())


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _time(text: Any) -> datetime | None:
    """UTC, without a zone: SQL compares it with plain literals."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    except (TypeError, ValueError) as error:
        raise InputError(f"this is no time: {text!r}", hint="the run folder is damaged") from error
