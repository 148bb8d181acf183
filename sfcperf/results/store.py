"""RunStore: the run folder, and the only place that knows its file names.

trials.jsonl is the record of truth. All other documents are replaced as a whole (written to a
temporary file, fsynced, renamed), so that a killed run leaves either the old or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as
from sfcperf.input_file import read_input
from sfcperf.results import documents, jsonl, noise_gate
from sfcperf.results.files import remove_unfinished, replace_file
from sfcperf.results.flows import FLOWS, FlowRecord
from sfcperf.results.ownership import check_place, check_run_folder
from sfcperf.results.planned_trials import PlannedTrials
from sfcperf.results.records import SCHEMA_VERSION, Summary, TrialRecord
from sfcperf.results.tables import TELEMETRY, TrialRows, summary_csv
from sfcperf.results.values import Observation


class RunFile(StrEnum):
    """Names in a run folder that belong to SFCPerf (docs/reference/results.md), not to the user."""

    MANIFEST = "run.json"
    WORKFLOW = "workflow.json"
    WORKFLOW_APPLIED = "workflow.applied.json"
    WORKFLOW_BASE = "workflow-base.json"
    PLAN = "plan.json"
    TRIALS = "trials.jsonl"
    WARMUP = "warmup.jsonl"
    GATE = "gate.jsonl"
    TELEMETRY = "telemetry.parquet"
    FLOWS = "flows.parquet"
    SUMMARY = "summary.json"
    SUMMARY_CSV = "summary.csv"
    FIGURES = "figures"
    RAW = "raw"
    VNFDS = "vnfds"
    FILES = "files"
    REPORT = "report.html"
    JOINED = "joined.parquet"
    CORRELATIONS = "correlations.json"
    TAGS = "tags.json"
    ATTRIBUTION = "attribution.json"
    CLAIMS = "claims.json"
    LOCK = "lock"
    PACKAGE = "package.zip"
    REPLAY = "replay.json"
    LOG = "run.log"
    ERRORS = "errors.log"


SCHEMAS = {
    RunFile.MANIFEST: "run",
    RunFile.PLAN: "plan",
    RunFile.SUMMARY: "summary",
    RunFile.TAGS: "tags",
    RunFile.CORRELATIONS: "correlations",
    RunFile.ATTRIBUTION: "attribution",
    RunFile.CLAIMS: "claims",
}
"""Document -> its schema. Reading a document checks it against its schema."""


class RunStore:
    """A run folder, new or existing.

    Reading raises InputError, naming the file (and line), if the folder is damaged or was written
    by a version of SFCPerf that this one cannot read.
    """

    is_read_only = False
    """Whether nothing can be written into the folder, as it is a part of a package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run_id: str | None = None
        """Id in the manifest, once it was read."""
        self._checked: set[str] = set()
        """Files without an incomplete line of an earlier process, see `_append`."""
        self._is_ours = False
        """Whether `check_writable` has found no links, and no folder of others."""
        self._place: tuple[int, int] | None = None
        """Device and inode of the folder, for `stay`; None before that was called."""

    @classmethod
    def create(cls, folder: Path) -> RunStore:
        """Create a new run folder. Raises InputError if it exists, cannot be created, or is in a
        place where root does not write (sfcperf.results.ownership)."""
        check_place(folder)
        with system_errors_as(InputError, "the run folder cannot be created", where=folder):
            folder.mkdir(parents=True)
        store = cls(folder)
        store.stay()
        return store

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        """Open an existing run folder. Raises InputError if the folder is none."""
        with system_errors_as(InputError, "the run folder cannot be read", where=folder):
            found = (folder / RunFile.MANIFEST).is_file()
        if not found:
            raise InputError(
                "this is not a run folder: it has no run.json",
                where=str(folder),
                hint="`sfcperf runs` lists the runs",
            )
        return cls(folder)

    def check_writable(self) -> None:
        """Check the folder before anything is written into it. Methods of this class call this;
        whoever writes by a path has to call it first. Links are looked for only once. Raises
        InputError for links in the folder, and as root for a folder of others
        (sfcperf.results.ownership); EnvironmentLacks as `check_not_moved`."""
        self.check_not_moved()
        if not self._is_ours:
            check_run_folder(self.folder)
            self._is_ours = True

    def stay(self) -> None:
        """Remember which folder this is. From now on, writing raises EnvironmentLacks when another
        folder, or none, is in its place: a run in progress would otherwise go on in a folder
        without what it measured before."""
        found = self.folder.stat()
        self._place = found.st_dev, found.st_ino

    def check_not_moved(self) -> None:
        """Raise EnvironmentLacks when this is no longer the folder that `stay` remembered. Without
        a call of `stay`, nothing is checked."""
        if self._place is None:
            return
        try:
            found = self.folder.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._place:
            raise EnvironmentLacks(
                "the run folder was removed, renamed or replaced while the run was executed",
                where=str(self.folder),
                hint="if it is elsewhere now, `sfcperf resume FOLDER` continues there",
            )

    @property
    def shown_folder(self) -> Path:
        """Path that users are shown as that of the run."""
        return self.folder

    @property
    def run_id(self) -> str:
        """Id of the run. It is that of the manifest, which stays when the folder is moved; without
        a manifest, it is the folder's name."""
        if self._run_id is None and (self.folder / RunFile.MANIFEST).is_file():
            self._run_id = self.manifest()["run_id"]
        return self._run_id or self.folder.resolve().name

    def owns(self, path: Path) -> bool:
        """Whether a resolved path is a file or folder of this run, or lies in such a folder. Other
        files in the run folder are the user's."""
        folder = self.folder.resolve()
        return path.is_relative_to(folder) and path.relative_to(folder).parts[:1] in {
            (name,) for name in RunFile
        }

    # Input, plan and manifest

    def write_workflow(
        self, document: Mapping[str, Any], base: Path, *, source: Mapping[str, Any] | None = None
    ) -> None:
        """Keep the workflow as it runs (with preset, driver and overrides, before expansion), and
        `source`, the workflow as the user wrote it (None: the same). Relative paths in them start
        at the folder `base`."""
        self._write(RunFile.WORKFLOW, document if source is None else source)
        self._write(RunFile.WORKFLOW_APPLIED, document)
        self._write(RunFile.WORKFLOW_BASE, {"folder": str(base)})

    def workflow(self) -> tuple[dict[str, Any], Path]:
        """Return the workflow document as run, and the folder where its relative paths start."""
        # In a package this is relative to the run folder; an absolute path stays as it is.
        base = self._read(RunFile.WORKFLOW_BASE).get("folder")
        if not isinstance(base, str):
            raise documents.damaged(
                "there is no folder in it", str(self.folder / RunFile.WORKFLOW_BASE)
            )
        return self._read(RunFile.WORKFLOW_APPLIED), self.folder / base

    def source_workflow(self) -> dict[str, Any]:
        """Return the workflow document as the user gave it."""
        return self._read(RunFile.WORKFLOW)

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """Write plan.json: the order of trial groups and trials."""
        self._write_versioned(RunFile.PLAN, plan)

    def plan(self) -> dict[str, Any]:
        """Return the content of plan.json."""
        return self._read_versioned(RunFile.PLAN)

    def resolved(self) -> dict[str, Any]:
        """Return from plan.json: scenario id -> the scenario as it was resolved at the start of the
        run."""
        found: dict[str, Any] = self.plan()["resolved"]
        return found

    @property
    def vnfds(self) -> Path:
        """Folder of the VNF descriptors that the workflow refers to; it may not exist."""
        return self.folder / RunFile.VNFDS

    def descriptors(self) -> dict[str, Path]:
        """Return for each VNF descriptor: path in the workflow -> the copy in this folder."""
        return {entry["path"]: self.folder / entry["file"] for entry in self.manifest()["vnfds"]}

    @property
    def files(self) -> Path:
        """Folder of the files that knobs of VNFs name, by their SHA-256; it may not exist."""
        return self.folder / RunFile.FILES

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write run.json: versions, host facts, seeds, status."""
        self._write_versioned(RunFile.MANIFEST, manifest)

    def manifest(self) -> dict[str, Any]:
        """Return the content of run.json, as schemas/run.schema.json describes it."""
        document = self._read_versioned(RunFile.MANIFEST)
        where = str(self.folder / RunFile.MANIFEST)
        if not documents.is_safe_name(document["run_id"]):
            raise documents.damaged(f"run_id is {document['run_id']!r}", where)
        return document

    # Trials: the record of truth

    def append_trial(self, record: TrialRecord, *, warmup: bool = False) -> None:
        """Add a finished trial; it is on disk when this returns. Warm-up trials go to warmup.jsonl
        and are not analysed.

        Raises MeasurementError, and writes nothing, if a value is not a finite number.
        """
        self._append(RunFile.WARMUP if warmup else RunFile.TRIALS, documents.trial_document(record))

    def trials(self) -> list[TrialRecord]:
        """Return the finished trials in the order in which they ended, with the marks of the noise
        gate's readings. An incomplete last line, which a killed run leaves, is ignored.

        Raises InputError, naming the line, for any other line that is not a trial, or that is not
        one of this run.
        """
        path = self.folder / RunFile.TRIALS
        known = (self.folder / RunFile.MANIFEST).is_file()
        planned = PlannedTrials(self.manifest()) if known else None
        lines: dict[str, int] = {}
        records = []
        for number, row in jsonl.read(path):
            where = f"{path}:{number}"
            record = documents.trial_record(row, where)
            if record.trial_id in lines:
                raise documents.damaged(
                    f"trial {record.trial_id!r} is a duplicate of line {lines[record.trial_id]}",
                    where,
                )
            lines[record.trial_id] = number
            records.append(record)
            if planned is not None:
                planned.check(record, where)
        return noise_gate.marked(records, self.readings())

    def warmups(self) -> list[TrialRecord]:
        """Return the finished warm-up trials of all sessions. Raises InputError, which names the
        line, for a line that is not a trial."""
        path = self.folder / RunFile.WARMUP
        return [documents.trial_record(row, f"{path}:{line}") for line, row in jsonl.read(path)]

    def append_reading(self, reading: noise_gate.Reading) -> None:
        """Add a reading of the noise gate's sentinel; it is on disk when this returns."""
        self._append(RunFile.GATE, noise_gate.gate_document(reading))

    def readings(self) -> list[noise_gate.Reading]:
        """Return the readings of the sentinel, in order; none without a noise gate. Raises
        InputError, which names the line, for a line that is not a reading."""
        path = self.folder / RunFile.GATE
        return [noise_gate.gate_line(row, f"{path}:{number}") for number, row in jsonl.read(path)]

    def raw(self, trial_id: str) -> Path:
        """Return the folder for a trial's raw output; it is created if needed."""
        self.check_writable()
        folder = self.folder / RunFile.RAW / trial_id
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # What monitors found

    def write_trial_telemetry(
        self, record: TrialRecord, observations: Sequence[Observation]
    ) -> None:
        """Keep the monitors' observations of a trial with its raw output."""
        if observations:
            TELEMETRY.write(self.raw(record.trial_id) / RunFile.TELEMETRY, record, observations)

    def write_trial_flows(self, record: TrialRecord, flows: Sequence[FlowRecord]) -> None:
        """Keep the flows that monitors listed in a trial with its raw output."""
        if flows:
            FLOWS.write(self.raw(record.trial_id) / RunFile.FLOWS, record, flows)

    def merge_telemetry(self) -> Path | None:
        """Make telemetry.parquet from the parts of all trials, and return its path; None without
        parts."""
        return self._merge(TELEMETRY, RunFile.TELEMETRY)

    def merge_flows(self) -> Path | None:
        """Make flows.parquet from the parts of all trials, and return its path; None without
        parts."""
        return self._merge(FLOWS, RunFile.FLOWS)

    def _merge(self, kind: TrialRows, name: RunFile) -> Path | None:
        """Make the file `name` from the files of that name in the raw folders of the trials; return
        its path, or None without any."""
        parts = [self.folder / RunFile.RAW / record.trial_id / name for record in self.trials()]
        self.check_writable()
        return kind.merge([part for part in parts if part.is_file()], self.folder / name)

    @property
    def telemetry_path(self) -> Path:
        """Path of telemetry.parquet, which may not exist."""
        return self.folder / RunFile.TELEMETRY

    @property
    def flows_path(self) -> Path:
        """Path of flows.parquet, which may not exist."""
        return self.folder / RunFile.FLOWS

    # Derived results

    def write_summary(self, summaries: Sequence[Summary]) -> None:
        """Write summary.json, and the same rows as a table into summary.csv."""
        document, table = self.summary_texts(summaries)
        self.check_writable()
        replace_file(self.folder / RunFile.SUMMARY, document)
        replace_file(self.folder / RunFile.SUMMARY_CSV, table)

    def summary_texts(self, summaries: Sequence[Summary]) -> tuple[str, str]:
        """Return the texts that `write_summary` writes: summary.json and summary.csv."""
        rows = [documents.summary_row(summary) for summary in summaries]
        document = {"schema_version": SCHEMA_VERSION, "run_id": self.run_id, "summaries": rows}
        return _text(document), summary_csv(summaries)

    def summaries(self) -> list[Summary]:
        """Return the rows of summary.json; empty if the run was not analysed yet."""
        path = self.folder / RunFile.SUMMARY
        if not path.is_file():
            return []
        rows = self._read_versioned(RunFile.SUMMARY)["summaries"]
        return [
            documents.summary(row, f"{path}#/summaries/{index}") for index, row in enumerate(rows)
        ]

    @property
    def joined_path(self) -> Path:
        """Path of joined.parquet, which may not exist."""
        return self.folder / RunFile.JOINED

    def write_document(self, name: RunFile, document: Mapping[str, Any]) -> None:
        """Write what an analysis found. `name`: CORRELATIONS, ATTRIBUTION,
        CLAIMS or TAGS."""
        self._write_versioned(name, document)

    def document(self, name: RunFile) -> dict[str, Any] | None:
        """Return what `write_document` wrote; None if the analysis wrote nothing in this run."""
        return self._read_versioned(name) if (self.folder / name).is_file() else None

    @property
    def figures(self) -> Path:
        """Folder of the figures; it may not exist."""
        return self.folder / RunFile.FIGURES

    @property
    def report(self) -> Path:
        """Path of report.html, which may not exist."""
        return self.folder / RunFile.REPORT

    # Files

    def remove_unfinished(self) -> None:
        """Remove temporary files of a killed process. The caller must hold the run's lock."""
        self.check_writable()
        for folder in (self.folder, self.figures):
            remove_unfinished(folder)

    def _read(self, name: str) -> dict[str, Any]:
        """Read a document. Raises InputError if it is not there, too large, or no JSON object."""
        path = self.folder / name
        try:
            content = read_input(path, "the file", max_bytes=documents.MAX_DOCUMENT_BYTES)
        except InputError as error:
            raise documents.damaged(error.message, str(path)) from error
        return documents.parse(content, str(path))

    def _read_versioned(self, name: RunFile) -> dict[str, Any]:
        """Read a document that has a version and a schema, and check both. Raises InputError."""
        document, where = self._read(name), str(self.folder / name)
        documents.check_version(document, where)
        documents.check_schema(SCHEMAS[name], document, where)
        return document

    def _append(self, name: str, line: str) -> None:
        """Add a line to a file; it is on disk when this returns."""
        self.check_writable()
        if name not in self._checked:
            # Only lines from before this process can be incomplete.
            jsonl.cut_incomplete_line(self.folder / name)
            self._checked.add(name)
        jsonl.append(self.folder / name, line)

    def _write_versioned(self, name: str, document: Mapping[str, Any]) -> None:
        self._write(name, {"schema_version": SCHEMA_VERSION, **document})

    def _write(self, name: str, document: Mapping[str, Any]) -> None:
        self.check_writable()
        replace_file(self.folder / name, _text(document))


def _text(document: Mapping[str, Any]) -> str:
    """Return JSON with an indent of two. Python's encoder is slow at that, so each part is indented
    once and kept: most parts of a manifest stay the same each time that it is written."""
    parts = (
        f"  {json.dumps(key)}: "
        + _indented(json.dumps(part, allow_nan=False, default=documents.plain))
        for key, part in document.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


@lru_cache(maxsize=64)
def _indented(compact: str) -> str:
    """Return compact JSON in the form that it has as a value in an indented object."""
    return json.dumps(json.loads(compact), indent=2).replace("\n", "\n  ")
