"""RunStore: the run folder (DESIGN.md section 6); the one place that knows its file names.

trials.jsonl is the record of truth. Every other document is replaced as a whole (written beside,
fsynced, renamed), so that a killed run leaves either the old or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.results import documents, jsonl, noise_gate, telemetry
from sfcperf.results.files import remove_unfinished, replace_file
from sfcperf.results.manifest_check import check_manifest
from sfcperf.results.records import SCHEMA_VERSION, Summary, TrialRecord
from sfcperf.results.summary_csv import summary_csv
from sfcperf.results.values import Observation

__all__ = ["RunStore", "replace_file"]

MANIFEST = "run.json"
WORKFLOW = "workflow.json"
WORKFLOW_APPLIED = "workflow.applied.json"
WORKFLOW_BASE = "workflow-base.json"
PLAN = "plan.json"
TRIALS = "trials.jsonl"
WARMUP = "warmup.jsonl"
GATE = "gate.jsonl"
TELEMETRY = "telemetry.parquet"
SUMMARY = "summary.json"
SUMMARY_CSV = "summary.csv"
FIGURES = "figures"
RAW = "raw"
VNFDS = "vnfds"
REPORT = "report.html"
JOINED = "joined.parquet"
CORRELATIONS = "correlations.json"
TAGS = "tags.json"
STEADY = "steady.json"
ATTRIBUTION = "attribution.json"
OWN = frozenset(
    {
        MANIFEST,
        WORKFLOW,
        WORKFLOW_APPLIED,
        WORKFLOW_BASE,
        PLAN,
        TRIALS,
        WARMUP,
        GATE,
        TELEMETRY,
        SUMMARY,
        SUMMARY_CSV,
        FIGURES,
        RAW,
        VNFDS,
        REPORT,
        JOINED,
        CORRELATIONS,
        TAGS,
        STEADY,
        ATTRIBUTION,
        "lock",
        "package.zip",
        "replay.json",
        "run.log",
        "errors.log",
    }
)
"""Names in a run folder that are ours (docs/reference/results.md); others are the user's."""


class RunStore:
    """A run folder, new or existing.

    Reading raises InputError, naming the file (and line), when the folder is damaged or was
    written by another version of SFCPerf than this one reads.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run_id: str | None = None
        self._mended: set[str] = set()

    @classmethod
    def create(cls, folder: Path) -> RunStore:
        """A new run folder. Raises InputError when it exists or cannot be made."""
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise InputError(
                f"the run folder cannot be made: {error.strerror}", where=str(folder)
            ) from error
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        """An existing run folder. Raises InputError when it is none."""
        try:
            found = (folder / MANIFEST).is_file()
        except OSError as error:
            raise InputError(
                f"the run folder cannot be read: {error.strerror}", where=str(folder)
            ) from error
        if not found:
            raise InputError(
                "this is not a run folder: it has no run.json",
                where=str(folder),
                hint="`sfcperf runs` lists the runs",
            )
        return cls(folder)

    @property
    def run_id(self) -> str:
        """Identifier of the run: the manifest's, so that a folder that was moved or renamed keeps
        it; the folder's name while there is no manifest."""
        if self._run_id is None and (self.folder / MANIFEST).is_file():
            self._run_id = self.manifest()["run_id"]
        return self._run_id or self.folder.resolve().name

    def owns(self, path: Path) -> bool:
        """Whether a path (resolved) is a document of this folder, or lies in one of its folders."""
        folder = self.folder.resolve()
        return path.is_relative_to(folder) and path.relative_to(folder).parts[:1] in {
            (name,) for name in OWN
        }

    # Input, plan and manifest

    def write_workflow(
        self, document: Mapping[str, Any], base: Path, *, given: Mapping[str, Any] | None = None
    ) -> None:
        """Keep the workflow as `given` by the user (None: the same), and as run: preset, driver
        and overrides applied, before expansion; `base` is where its relative paths start."""
        self._write(WORKFLOW, document if given is None else given)
        self._write(WORKFLOW_APPLIED, document)
        self._write(WORKFLOW_BASE, {"folder": str(base)})

    def workflow(self) -> tuple[dict[str, Any], Path]:
        """The workflow document as run and the folder where its relative paths start."""
        base = self._read(WORKFLOW_BASE).get("folder")
        if not isinstance(base, str):
            raise documents.damaged("it names no folder", str(self.folder / WORKFLOW_BASE))
        return self._read(WORKFLOW_APPLIED), self.folder / base

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """plan.json: order of trial groups and trials."""
        self._write(PLAN, {"schema_version": SCHEMA_VERSION, **plan})

    def plan(self) -> dict[str, Any]:
        """plan.json."""
        return self._read_versioned(PLAN)

    def resolved(self) -> dict[str, Any]:
        """From plan.json: scenario id -> the scenario as it was resolved when the run began."""
        found = self.plan().get("resolved")
        if not isinstance(found, dict):
            raise documents.damaged(
                "it does not say what the scenarios were", str(self.folder / PLAN)
            )
        return found

    @property
    def vnfds(self) -> Path:
        """Folder of the VNF descriptors that the workflow refers to; it may not exist."""
        return self.folder / VNFDS

    def descriptors(self) -> dict[str, Path]:
        """VNF descriptors: path as the workflow gives it -> the copy in this folder. Empty for
        runs that use none, and for those of versions that kept no copies."""
        kept = self.manifest().get("vnfds", [])
        return {entry["path"]: self.folder / entry["file"] for entry in kept}

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """run.json: versions, host facts, seeds, status."""
        self._write(MANIFEST, {"schema_version": SCHEMA_VERSION, **manifest})

    def manifest(self) -> dict[str, Any]:
        """run.json, as schemas/run.schema.json says."""
        document = self._read_versioned(MANIFEST)
        where = str(self.folder / MANIFEST)
        check_manifest(document, where)
        if not documents.is_safe_name(document["run_id"]):
            raise documents.damaged(f"run_id is {document['run_id']!r}", where)
        return document

    # Trials: the record of truth

    def append_trial(self, record: TrialRecord, *, warmup: bool = False) -> None:
        """Add a finished trial; it is on disk when this returns. Warm-up trials are kept apart,
        in warmup.jsonl, and count nowhere.

        Raises MeasurementError, and writes nothing, when a value is not a finite number.
        """
        self._append(WARMUP if warmup else TRIALS, documents.trial_document(record))

    def trials(self) -> list[TrialRecord]:
        """Finished trials in the order in which they ended, as the noise gate's readings leave
        them. A last line that a killed run did not finish is not a trial.

        Raises InputError, naming the line, for anything else that is not a trial.
        """
        path = self.folder / TRIALS
        lines: dict[str, int] = {}
        records = []
        for number, row in jsonl.read(path):
            where = f"{path}:{number}"
            record = documents.trial_record(row, where)
            if record.trial_id in lines:
                raise documents.damaged(
                    f"trial {record.trial_id!r} is there twice, first in line "
                    f"{lines[record.trial_id]}",
                    where,
                )
            lines[record.trial_id] = number
            records.append(record)
        return noise_gate.marked(records, self.readings())

    def append_reading(self, reading: noise_gate.Reading) -> None:
        """Add a reading of the noise gate's sentinel; it is on disk when this returns."""
        self._append(GATE, noise_gate.gate_document(reading))

    def readings(self) -> list[noise_gate.Reading]:
        """Readings of the sentinel, in order; none without a noise gate. Raises InputError, naming
        the line, for anything else."""
        path = self.folder / GATE
        return [noise_gate.gate_line(row, f"{path}:{number}") for number, row in jsonl.read(path)]

    def raw(self, trial_id: str) -> Path:
        """Folder for a trial's raw output; made if it is not there."""
        folder = self.folder / RAW / trial_id
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # Telemetry

    def write_trial_telemetry(
        self, record: TrialRecord, observations: Sequence[Observation]
    ) -> None:
        """Keep what the monitors observed during a trial, beside its raw output."""
        if observations:
            telemetry.write(self.raw(record.trial_id) / TELEMETRY, record, observations)

    def merge_telemetry(self) -> Path | None:
        """telemetry.parquet from the trials' parts; None when there are none."""
        trials = [record.trial_id for record in self.trials()]
        parts = [self.folder / RAW / trial / TELEMETRY for trial in trials]
        return telemetry.merge([p for p in parts if p.is_file()], self.telemetry_path)

    @property
    def telemetry_path(self) -> Path:
        """telemetry.parquet; it may not exist."""
        return self.folder / TELEMETRY

    # Derived results

    def write_summary(self, summaries: Sequence[Summary]) -> None:
        """summary.json, and the same rows as a table in summary.csv."""
        self._write(
            SUMMARY,
            {
                "schema_version": SCHEMA_VERSION,
                "run_id": self.run_id,
                "summaries": [documents.summary_row(summary) for summary in summaries],
            },
        )
        replace_file(self.folder / SUMMARY_CSV, summary_csv(summaries))

    def summaries(self) -> list[Summary]:
        """Rows of summary.json; empty when the run was not analysed yet."""
        path = self.folder / SUMMARY
        if not path.is_file():
            return []
        rows = self._read_versioned(SUMMARY).get("summaries")
        if not isinstance(rows, list):
            raise documents.damaged("it has no list of summaries", str(path))
        return [
            documents.summary(row, f"{path}#/summaries/{index}") for index, row in enumerate(rows)
        ]

    @property
    def joined_path(self) -> Path:
        """joined.parquet; it may not exist."""
        return self.folder / JOINED

    def write_correlations(self, document: Mapping[str, Any]) -> None:
        """correlations.json."""
        self._write(CORRELATIONS, {"schema_version": SCHEMA_VERSION, **document})

    def correlations(self) -> dict[str, Any] | None:
        """correlations.json; None when the run's workflow asked for none."""
        return self._read_versioned(CORRELATIONS) if self._has(CORRELATIONS) else None

    def write_steady(self, document: Mapping[str, Any]) -> None:
        """steady.json."""
        self._write(STEADY, {"schema_version": SCHEMA_VERSION, **document})

    def steady(self) -> dict[str, Any] | None:
        """steady.json; None when the run's workflow asked for none."""
        return self._read_versioned(STEADY) if self._has(STEADY) else None

    def write_attribution(self, document: Mapping[str, Any]) -> None:
        """attribution.json."""
        self._write(ATTRIBUTION, {"schema_version": SCHEMA_VERSION, **document})

    def attribution(self) -> dict[str, Any] | None:
        """attribution.json; None when pptmon saw nothing in this run."""
        return self._read_versioned(ATTRIBUTION) if self._has(ATTRIBUTION) else None

    def write_tags(self, document: Mapping[str, Any]) -> None:
        """tags.json."""
        self._write(TAGS, {"schema_version": SCHEMA_VERSION, **document})

    def tags(self) -> dict[str, Any] | None:
        """tags.json; None when the run was not enriched."""
        return self._read_versioned(TAGS) if self._has(TAGS) else None

    @property
    def figures(self) -> Path:
        """Folder of the figures; it may not exist."""
        return self.folder / FIGURES

    @property
    def report(self) -> Path:
        """report.html; it may not exist."""
        return self.folder / REPORT

    # Files

    def remove_unfinished(self) -> None:
        """Remove files that a killed process had begun to write. Only for who holds the run."""
        for folder in (self.folder, self.figures):
            remove_unfinished(folder)

    def _read(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise documents.damaged(error.strerror or str(error), str(path)) from error
        return documents.parse(content, str(path))

    def _has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def _read_versioned(self, name: str) -> dict[str, Any]:
        document = self._read(name)
        documents.check_version(document, str(self.folder / name))
        return document

    def _append(self, name: str, line: str) -> None:
        if name not in self._mended:
            jsonl.cut_torn_line(self.folder / name)
            self._mended.add(name)
        jsonl.append(self.folder / name, line)

    def _write(self, name: str, document: Mapping[str, Any]) -> None:
        text = json.dumps(document, indent=2, allow_nan=False, default=documents.plain)
        replace_file(self.folder / name, text + "\n")
