"""The analysis `enrich`: tags.json (paper: analysis module, e.g. geo-tagging)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.analysis.base import Analysis
from sfcperf.analysis.enrichment.address_database import (
    AddressDatabase,
    harvest_database,
    open_database,
)
from sfcperf.analysis.enrichment.subjects import (
    COLUMN_PATTERN,
    COLUMNS_TEXT,
    SOURCE,
    check_columns,
    subjects,
)
from sfcperf.analysis.enrichment.table import Table, harvest_table, read_table
from sfcperf.analysis.enrichment.tag import Harvest
from sfcperf.errors import InputError
from sfcperf.results.columns import factor_names
from sfcperf.results.store import RunStore

if TYPE_CHECKING:
    from sfcperf.workflow.model import Workflow

_FILE = {
    "description": "Path, relative to the workflow file.",
    "type": "string",
    "minLength": 1,
    "maxLength": 1024,
}
_COLUMN = {"type": "string", "pattern": COLUMN_PATTERN, "description": f"One of {COLUMNS_TEXT}."}
_NAMES = {"type": "string", "minLength": 1, "maxLength": 64}


class EnrichAnalysis(Analysis):
    """Writes tags.json: what tables (CSV) and address databases (mmdb) say of the run's trials and
    telemetry sources, and what in them or in the run found no partner."""

    name: ClassVar[str] = "enrich"
    title: ClassVar[str] = "Tags from CSV tables and from GeoLite-style address databases"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "tables": {
                "description": "CSV files with a header, in UTF-8.",
                "type": "array",
                "maxItems": 32,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["file", "match"],
                    "properties": {
                        "file": _FILE,
                        "match": {
                            "description": "Key column of the file -> what its text must equal, "
                            f"exactly: {COLUMNS_TEXT}.",
                            "type": "object",
                            "minProperties": 1,
                            "additionalProperties": _COLUMN,
                        },
                        "tags": {
                            "description": "Columns that become tags. Default: all but the key.",
                            "type": "array",
                            "items": _NAMES,
                            "minItems": 1,
                            "uniqueItems": True,
                        },
                        "prefix": {
                            "description": "Put before the columns' names.",
                            "type": "string",
                            "maxLength": 32,
                            "default": "",
                        },
                        "delimiter": {
                            "description": "Between cells.",
                            "enum": [",", ";", "\t", "|"],
                            "default": ",",
                        },
                    },
                },
            },
            "databases": {
                "description": "Databases of IP addresses in MaxMind's format.",
                "type": "array",
                "maxItems": 8,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["file", "addresses", "fields"],
                    "properties": {
                        "file": _FILE,
                        "addresses": {**_COLUMN, "description": f"Where: {COLUMNS_TEXT}."},
                        "fields": {
                            "description": "Tag -> path in the database's records, e.g. "
                            "`country.iso_code`, `city.names.en`, `autonomous_system_number`.",
                            "type": "object",
                            "minProperties": 1,
                            "propertyNames": _NAMES,
                            "additionalProperties": {"type": "string", "minLength": 1},
                        },
                    },
                },
            },
        },
        "anyOf": [{"required": ["tables"]}, {"required": ["databases"]}],
        "additionalProperties": False,
    }

    def check(self, workflow: Workflow) -> None:
        """Everything but what the trials will say. Raises InputError with file and line."""
        levels = [scenario.levels for scenario in workflow.scenarios]
        self._check_columns(factor_names(levels))
        self._open(workflow.folder)

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """The document of tags.json, which is written too.

        Raises InputError when a file is wrong (with its line) or the run folder is damaged.
        """
        folder = run.workflow()[1]
        trials = run.trials()
        self._check_columns(factor_names(record.scenario for record in trials))
        tables, databases = self._open(folder)
        harvests = [
            harvest_table(table, subjects(run, trials, list(entry["match"].values())))
            for table, entry in zip(tables, self._entries("tables"), strict=True)
        ]
        harvests += [
            harvest_database(database, subjects(run, trials, [entry["addresses"]]))
            for database, entry in zip(databases, self._entries("databases"), strict=True)
        ]
        document = {
            "run_id": run.run_id,
            "files": [_without_tags(harvest) for harvest in harvests],
            "tags": [asdict(tag) for harvest in harvests for tag in harvest.tags],
        }
        run.write_tags(document)
        return document

    def _entries(self, key: str) -> Sequence[Mapping[str, Any]]:
        entries: Sequence[Mapping[str, Any]] = self.parameters.get(key, [])
        return entries

    def _check_columns(self, factors: Sequence[str]) -> None:
        for entry in self._entries("tables"):
            check_columns(list(entry["match"].values()), factors, entry["file"])
        for entry in self._entries("databases"):
            check_columns([entry["addresses"]], factors, entry["file"])

    def _open(self, folder: Path) -> tuple[list[Table], list[AddressDatabase]]:
        tables = [
            read_table(
                folder,
                entry["file"],
                list(entry["match"]),
                tags=entry.get("tags"),
                prefix=entry.get("prefix", ""),
                delimiter=entry.get("delimiter", ","),
            )
            for entry in self._entries("tables")
        ]
        databases = [
            open_database(folder, entry["file"], entry["fields"])
            for entry in self._entries("databases")
        ]
        _check_names(
            [
                *(
                    (table.file, SOURCE in entry["match"].values(), table.names)
                    for table, entry in zip(tables, self._entries("tables"), strict=True)
                ),
                *(
                    (database.file, entry["addresses"] == SOURCE, database.fields)
                    for database, entry in zip(databases, self._entries("databases"), strict=True)
                ),
            ]
        )
        return tables, databases


def _check_names(given: Sequence[tuple[str, bool, Iterable[str]]]) -> None:
    """No two files give the same tag of the same kind of subject: which one would count?"""
    seen: dict[tuple[bool, str], str] = {}
    for file, of_sources, names in given:
        for name in names:
            if (of_sources, name) in seen:
                raise InputError(
                    f"the tag {name!r} is given by {seen[(of_sources, name)]} already",
                    where=file,
                    hint="`prefix` or `tags` of a table, or another name in `fields`",
                )
            seen[(of_sources, name)] = file


def _without_tags(harvest: Harvest) -> dict[str, Any]:
    document = asdict(harvest)
    del document["tags"]
    return document
