"""The values that a file's key is matched against: columns of trials, or telemetry sources.

Values are compared exactly, as text: strings as they are, numbers and booleans as in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfcperf.analysis.enrichment.tags import Subjects
from sfcperf.errors import InputError
from sfcperf.results.documents import at_path
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.tables import TELEMETRY
from sfcperf.results.tables.columns import PREFIX

SOURCE = "source"
ENDPOINTS = ("client", "server")
FIELDS = ("trial_id", "scenario_id", "round", "probe", "label", "status")
"""Attributes of a trial's record that are columns of the same name."""
NESTED = ("notes.", "facts.")
"""How columns begin whose rest is a path in the record's notes, or in the facts of its
deployment."""
COLUMN_PATTERN = rf"^({SOURCE}|{'|'.join((*ENDPOINTS, *FIELDS))}|{PREFIX}.+|notes\..+|facts\..+)$"
"""Pattern of the names of columns (JSON Schema)."""
COLUMNS_TEXT = (
    f"`{PREFIX}NAME` (level of a factor), `label`, `probe`, `round`, `status`, `scenario_id`, "
    "`trial_id`, `client` or `server` (address of the endpoint, as the workflow gives it), "
    "`notes.PATH` or `facts.PATH` (of the trial's record), or, alone, `source` (of telemetry)"
)


def check_columns(columns: Sequence[str], factors: Iterable[str], where: str) -> None:
    """Refuse columns that a key cannot be matched against. Raises InputError for a column of an
    unknown factor, or for `source` together with other columns. `where`: place in the message."""
    known = [PREFIX + name for name in factors]
    for column in columns:
        if column.startswith(PREFIX) and column not in known:
            raise InputError(
                f"there is no column {column!r}: the workflow has no such factor",
                where=where,
                allowed=", ".join(known) or "no factor",
            )
    if SOURCE in columns and len(columns) > 1:
        raise InputError(
            "`source` cannot be matched together with columns of trials",
            where=where,
            hint="use two tables: `source` is a column of telemetry",
        )


def subjects(run: RunStore, trials: Sequence[TrialRecord], columns: Sequence[str]) -> Subjects:
    """Group the trials of a run by their texts in these columns; or, if the column is `source`,
    give each source of its telemetry a group of its own. Trials without a value in one of the
    columns are only counted. Raises InputError if the run folder is damaged."""
    by_key: dict[tuple[str, ...], list[str]] = {}
    if list(columns) == [SOURCE]:
        for source in _sources(run):
            by_key[(source,)] = [source]
        return Subjects("source", by_key)
    addresses = _addresses(run) if set(columns) & set(ENDPOINTS) else {}
    for record in trials:
        texts = [_text(_value(record, column, addresses)) for column in columns]
        key = tuple(text for text in texts if text is not None)
        if len(key) == len(columns):
            by_key.setdefault(key, []).append(record.trial_id)
    with_value = sum(len(ids) for ids in by_key.values())
    return Subjects("trial", by_key, len(trials) - with_value)


def _sources(run: RunStore) -> list[str]:
    """List the sources of the run's telemetry in alphabetical order; empty without telemetry."""
    if not run.telemetry_path.is_file():
        return []
    return sorted(TELEMETRY.read(run.telemetry_path)["source"].unique().to_pylist())


def _addresses(run: RunStore) -> dict[tuple[str, str], str | None]:
    """Map (scenario id, endpoint) to the address of the endpoint; None where the workflow gives
    none."""
    return {
        (scenario_id, endpoint): scenario[endpoint]["address"]
        for scenario_id, scenario in run.resolved().items()
        for endpoint in ENDPOINTS
    }


def _value(
    record: TrialRecord, column: str, addresses: Mapping[tuple[str, str], str | None]
) -> Any:
    """Return what a trial has in a column (COLUMNS_TEXT names them); None if it has nothing."""
    if column in ENDPOINTS:
        return addresses.get((record.scenario_id, column))
    if column.startswith(PREFIX):
        return record.scenario.get(column.removeprefix(PREFIX))
    if column.startswith(NESTED):
        root, _, path = column.partition(".")
        start = record.notes if root == "notes" else record.deployment.get("facts")
        return at_path(start, path)
    return getattr(record, column)


def _text(value: Any) -> str | None:
    """Return a value as the text that keys are compared with. None for a missing value, and for a
    list or object, which cannot be part of a key."""
    if value is None or isinstance(value, Mapping | list | tuple):
        return None
    return value if isinstance(value, str) else json.dumps(value)
