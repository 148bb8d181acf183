"""The analysis `enrich`: tags.json (paper: analysis module, e.g. geo-tagging)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.analysis.base import Analysis
from sfcperf.analysis.enrichment.address_database import open_database
from sfcperf.analysis.enrichment.subjects import (
    COLUMN_PATTERN,
    COLUMNS_TEXT,
    SOURCE,
    check_columns,
    subjects,
)
from sfcperf.analysis.enrichment.table import read_table
from sfcperf.analysis.enrichment.tags import TagFile
from sfcperf.errors import InputError
from sfcperf.plugins import object_schema
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import factor_names

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
    """Writes tags.json: tags of the run's trials and telemetry sources from tables (CSV) and
    address databases (mmdb), and everything in the files or in the run that has no match."""

    name: ClassVar[str] = "enrich"
    title: ClassVar[str] = "Tags from your own CSV tables and IP address databases"
    parameters = object_schema(
        {
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
                            "description": "Key column of the file -> value that its text must "
                            f"equal exactly: {COLUMNS_TEXT}.",
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
                            "description": "Prefix of the tags' names.",
                            "type": "string",
                            "maxLength": 32,
                            "default": "",
                        },
                        "delimiter": {
                            "description": "Separator of cells.",
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
                        "addresses": {
                            **_COLUMN,
                            "description": f"Column with the addresses: {COLUMNS_TEXT}.",
                        },
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
        anyOf=[{"required": ["tables"]}, {"required": ["databases"]}],
    )

    def check(self, workflow: Workflow) -> None:
        """Check columns and files. Raises InputError with file and line."""
        self._open(
            workflow.folder, factor_names(scenario.levels for scenario in workflow.scenarios)
        )

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Write tags.json and return its document. Raises InputError if a file is wrong (with its
        line) or the run folder is damaged."""
        folder = run.workflow()[1]
        trials = run.trials()
        files = self._open(folder, factor_names(record.scenario for record in trials))
        described, tags = [], []
        for file in files:
            found = subjects(run, trials, file.columns)
            matches = file.match(found)
            tags += [asdict(tag) for tag in matches.tags]
            described.append(
                {
                    "file": file.file,
                    "sha256": file.sha256,
                    "kind": file.kind,
                    "names": file.names,
                    "matched": matches.matched,
                    "unmatched_rows": matches.unmatched_rows,
                    "unmatched_values": matches.unmatched_values,
                    "without": found.without,
                }
            )
        document = {"run_id": run.run_id, "files": described, "tags": tags}
        run.write_document(RunFile.TAGS, document)
        return document

    def _open(self, folder: Path, factors: Sequence[str]) -> list[TagFile]:
        """Open and check the tables and databases. `folder`: where their paths start; `factors`:
        names of the run's factors. Raises InputError with file and line."""
        tables = self.parameters.get("tables", [])
        databases = self.parameters.get("databases", [])
        for entry in tables:
            check_columns(list(entry["match"].values()), factors, entry["file"])
        for entry in databases:
            check_columns([entry["addresses"]], factors, entry["file"])
        files: list[TagFile] = [
            read_table(
                folder,
                entry["file"],
                entry["match"],
                tags=entry.get("tags"),
                prefix=entry.get("prefix", ""),
                delimiter=entry.get("delimiter", ","),
            )
            for entry in tables
        ]
        files += [
            open_database(folder, entry["file"], entry["addresses"], entry["fields"])
            for entry in databases
        ]
        _check_names(files)
        return files


def _check_names(files: Sequence[TagFile]) -> None:
    """Refuse two files that give the same tag to the same kind of subject. Raises InputError."""
    seen: dict[tuple[bool, str], str] = {}
    for file in files:
        for name in file.names:
            key = (SOURCE in file.columns, name)
            if key in seen:
                raise InputError(
                    f"the tag {name!r} is also given by {seen[key]}",
                    where=file.file,
                    hint="change `prefix` or `tags` of a table, or the name in `fields`",
                )
            seen[key] = file.file
