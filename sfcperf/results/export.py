"""Flat tables of a run for other tools: one with a row per sample, others with telemetry and
flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sfcperf.errors import InputError, system_errors_as
from sfcperf.results.attempts import attempt_counts
from sfcperf.results.files import replacing
from sfcperf.results.flows import FLOWS
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import TELEMETRY
from sfcperf.results.tables.arrow_files import arrow_output
from sfcperf.results.tables.columns import PREFIX, cell, csv_cell, factor_names, level_array

if TYPE_CHECKING:
    import pyarrow

Format = Literal["csv", "parquet"]

TAG_PREFIX = "tag_"
"""Prefix of a tag's column, so that it is distinct from others, like `factor_` for factors."""

_TRIAL_COLUMNS = tuple(f.name for f in fields(TrialRecord) if f.name not in ("scenario", "samples"))
_STRUCTURED = ["deployment", "packets", "notes", "series", "noise", "failed_attempts", "loss"]
"""Columns with JSON text, which are left out of CSV."""
_COUNTED = ("failures", "crashes", "crashed_functions", "loss_ratio")
"""Columns with counts of failures and losses, which CSV has instead of `failed_attempts` and
`loss`."""
_SAMPLE_COLUMNS = ("sample", "metric", "unit", "value")


def export(store: RunStore, format: Format, target: Path) -> list[Path]:
    """Write all samples of the run to `target`, and telemetry and flows to files beside it
    (`target_of`), if there are any. Return the written files.

    The table of samples has the columns `run_id`, the fields of TrialRecord, `failures` (failed
    attempts), `crashes`, `crashed_functions` and `loss_ratio`, a column `factor_NAME` per factor, a
    column `tag_NAME` per tag (analysis `enrich`), and `sample` (from 0 within the trial), `metric`,
    `unit`, `value`. Fields with a structure are JSON text; CSV has only `reasons` of them, since
    the others make rows of thousands of characters. Trials of every status are included: filter on
    `status`. A trial without samples has one row with empty sample columns, so that failures are
    visible. Telemetry and flows have the same factor columns; telemetry also has the tags of its
    sources.

    Raises InputError for an unknown format, a damaged run, or a target that cannot be written or
    that is part of the run's own record.
    """
    if format not in get_args(Format):
        raise InputError(
            f"there is no export format {format!r}", allowed=", ".join(get_args(Format))
        )
    trials = store.trials()
    samples = _samples_table(store.run_id, trials, _tags(store, "trial"))
    tables = {target: samples.drop_columns(_STRUCTURED) if format == "csv" else samples}
    if store.telemetry_path.is_file():
        table = TELEMETRY.read(store.telemetry_path)
        beside = target_of("telemetry", target)
        tables[beside] = _with_tags(_with_factors(table, store, trials), _tags(store, "source"))
    if store.flows_path.is_file():
        table = FLOWS.read(store.flows_path)
        tables[target_of("flows", target)] = _with_factors(table, store, trials)
    for path in tables:
        check_target(store, path)
    for path, table in tables.items():
        _write(table, format, path)
    return list(tables)


def target_of(kind: str, target: Path) -> Path:
    """Return the file for an export's `telemetry` or `flows`: `run.csv` -> `run-telemetry.csv`."""
    return target.with_name(f"{target.stem}-{kind}{target.suffix}")


def _tags(store: RunStore, subject: str) -> dict[str, dict[str, Any]]:
    """Return tag -> id -> value. Ids are those of trials if `subject` is `trial`, and names of
    telemetry's sources if it is `source`."""
    found: dict[str, dict[str, Any]] = {}
    for tag in (store.document(RunFile.TAGS) or {}).get("tags", []):
        if tag["subject"] == subject:
            found.setdefault(tag["tag"], {})[tag["id"]] = tag["value"]
    return found


def _samples_table(
    run_id: str, trials: Sequence[TrialRecord], tags: Mapping[str, Mapping[str, Any]]
) -> pyarrow.Table:
    """Return the table of `export` with a row for each sample. `tags`: tag -> trial id -> value."""
    import pyarrow

    rows = [(record, row) for record in trials for row in _sample_rows(record)]
    columns = {"run_id": pyarrow.array([run_id] * len(rows), pyarrow.string())}
    for name in _TRIAL_COLUMNS:
        values = {record.trial_id: cell(getattr(record, name)) for record in trials}
        columns[name] = pyarrow.array([values[r.trial_id] for r, _ in rows], _type(name))
    counted = {record.trial_id: _counted(record) for record in trials}
    for name in _COUNTED:
        columns[name] = pyarrow.array([counted[r.trial_id][name] for r, _ in rows], _type(name))
    for factor in factor_names(record.scenario for record in trials):
        columns[PREFIX + factor] = level_array([r.scenario.get(factor) for r, _ in rows])
    for tag, by_trial in tags.items():
        columns[TAG_PREFIX + tag] = level_array([by_trial.get(r.trial_id) for r, _ in rows])
    for name in _SAMPLE_COLUMNS:
        columns[name] = pyarrow.array([row.get(name) for _, row in rows], _type(name))
    return pyarrow.table(columns)


def _sample_rows(record: TrialRecord) -> list[dict[str, Any]]:
    """Return the values of _SAMPLE_COLUMNS for each sample; one empty row without samples."""
    return [{"sample": n, **sample} for n, sample in enumerate(record.samples)] or [{}]


def _counted(record: TrialRecord) -> dict[str, Any]:
    """Return the values of the columns _COUNTED for a trial."""
    counts = attempt_counts([record])
    return {
        "failures": counts.failed,
        "crashes": counts.crashes,
        "crashed_functions": "; ".join(counts.crashed),
        "loss_ratio": None if record.loss is None else record.loss.ratio,
    }


def _type(name: str) -> pyarrow.DataType:
    """Return the Arrow type of a column of the table of samples."""
    import pyarrow

    if name in ("round", "attempts", "sample", "failures", "crashes"):
        return pyarrow.int64()
    floats = ("value", "duration_s", "loss_ratio")
    return pyarrow.float64() if name in floats else pyarrow.string()


def _with_factors(
    table: pyarrow.Table, store: RunStore, trials: Sequence[TrialRecord]
) -> pyarrow.Table:
    """Return a table with `run_id`, and with a column for each factor instead of the scenario's
    JSON."""
    import pyarrow

    # There may be millions of rows: levels are looked up once for each scenario.
    levels = {record.scenario_id: record.scenario for record in trials}
    scenarios = table["scenario_id"].combine_chunks().dictionary_encode()
    known = [levels.get(name, {}) for name in scenarios.dictionary.to_pylist()]
    table = table.drop_columns(["scenario"])
    for factor in factor_names(levels.values()):
        column = level_array([scenario.get(factor) for scenario in known]).take(scenarios.indices)
        table = table.append_column(PREFIX + factor, column)
    return table.add_column(0, "run_id", pyarrow.repeat(store.run_id, table.num_rows))


def _with_tags(table: pyarrow.Table, tags: Mapping[str, Mapping[str, Any]]) -> pyarrow.Table:
    """Return telemetry with a column for each tag of its sources. `tags`: tag -> source ->
    value."""
    sources = table["source"].combine_chunks().dictionary_encode()
    for tag, by_source in tags.items():
        known = [by_source.get(name) for name in sources.dictionary.to_pylist()]
        table = table.append_column(TAG_PREFIX + tag, level_array(known).take(sources.indices))
    return table


def check_target(store: RunStore, target: Path) -> None:
    """Raise InputError for a target that is a document of the run folder, or not a regular file: an
    export replaces its target."""
    with system_errors_as(InputError, "the export cannot be written", where=target):
        # A link at the target's own name is not followed: the export replaces it.
        place = target.parent.resolve() / target.name
        is_special = place.exists() and not place.is_file()
    if not place.parent.is_dir():
        raise InputError(
            f"the export cannot be written: the folder {target.parent} does not exist",
            where=str(target),
        )
    if store.owns(place):
        raise InputError(
            "the export would replace a document of the run folder",
            where=str(target),
            hint="name another file",
        )
    if is_special:
        raise InputError(
            "the export cannot be written: this is not a regular file", where=str(target)
        )


def _as_csv(table: pyarrow.Table) -> pyarrow.Table:
    """Return the table with texts and column names that no spreadsheet computes (`csv_cell`)."""
    import pyarrow

    for place, column in enumerate(table.schema):
        kind = column.type
        if pyarrow.types.is_dictionary(kind) or pyarrow.types.is_string(kind):
            texts = table[place].combine_chunks().dictionary_encode()
            safe = [csv_cell(text) for text in texts.dictionary.to_pylist()]
            cells = pyarrow.array(safe, pyarrow.string()).take(texts.indices)
            table = table.set_column(place, column.name, cells)
    return table.rename_columns([str(csv_cell(name)) for name in table.column_names])


def _write(table: pyarrow.Table, format: Format, target: Path) -> None:
    """Write a table into a file, which is there whole or not at all. Raises InputError."""
    import pyarrow.csv
    import pyarrow.parquet

    with (
        system_errors_as(InputError, "the export cannot be written", where=target),
        replacing(target) as beside,
        arrow_output(beside) as file,
    ):
        if format == "csv":
            pyarrow.csv.write_csv(_as_csv(table), file)
        else:
            pyarrow.parquet.write_table(table, file)
