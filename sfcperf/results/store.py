"""RunStore: the run folder (DESIGN.md section 6); the one place that knows its file names.

trials.jsonl is the record of truth. Every other document is replaced as a whole (written beside,
fsynced, renamed), so that a killed run leaves either the old or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.passive.base import Observation
from sfcperf.results import telemetry
from sfcperf.results.records import SCHEMA_VERSION, Summary, TrialRecord


class RunStore:
    """A run folder, new or existing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

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
        if not (folder / "run.json").is_file():
            raise InputError(
                "this is not a run folder: it has no run.json",
                where=str(folder),
                hint="`sfcperf runs` lists the runs",
            )
        return cls(folder)

    @property
    def run_id(self) -> str:
        """Name of the run: the folder's."""
        return self.folder.name

    # Input, plan and manifest

    def write_workflow(self, document: Mapping[str, Any], base: Path) -> None:
        """Keep the workflow as run: overrides applied, before expansion; `base` is where its
        relative paths start."""
        self._write("workflow.json", document)
        self._write("workflow-base.json", {"folder": str(base)})

    def workflow(self) -> tuple[dict[str, Any], Path]:
        """The kept workflow document and the folder where its relative paths start."""
        return self._read("workflow.json"), Path(self._read("workflow-base.json")["folder"])

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """plan.json: order of visits and trials."""
        self._write("plan.json", {"schema_version": SCHEMA_VERSION, **plan})

    def plan(self) -> dict[str, Any]:
        """plan.json."""
        return self._read("plan.json")

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """run.json: versions, host facts, seeds, status."""
        self._write("run.json", {"schema_version": SCHEMA_VERSION, **manifest})

    def manifest(self) -> dict[str, Any]:
        """run.json."""
        return self._read("run.json")

    # Trials: the record of truth

    def append_trial(self, record: TrialRecord, *, warmup: bool = False) -> None:
        """Add a finished trial; it is on disk when this returns. Warm-up trials are kept apart,
        in warmup.jsonl, and count nowhere."""
        path = self.folder / ("warmup.jsonl" if warmup else "trials.jsonl")
        self._cut_torn_line(path)
        line = json.dumps({"schema_version": SCHEMA_VERSION, **asdict(record)}) + "\n"
        with path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def trials(self) -> list[TrialRecord]:
        """Finished trials in the order in which they ended. A last line that a killed run did not
        finish is not a trial."""
        path = self.folder / "trials.jsonl"
        if not path.is_file():
            return []
        whole = path.read_bytes().rpartition(b"\n")[0]
        return [_trial(json.loads(line)) for line in whole.splitlines() if line]

    def raw(self, trial_id: str) -> Path:
        """Folder for a trial's raw output; made if it is not there."""
        folder = self.folder / "raw" / trial_id
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # Telemetry

    def write_trial_telemetry(
        self, record: TrialRecord, observations: Sequence[Observation]
    ) -> None:
        """Keep what the monitors observed during a trial, beside its raw output."""
        if observations:
            telemetry.write(self.raw(record.trial_id) / "telemetry.parquet", record, observations)

    def merge_telemetry(self) -> Path | None:
        """telemetry.parquet from the trials' parts; None when there are none."""
        trials = [record.trial_id for record in self.trials()]
        parts = [self.folder / "raw" / trial / "telemetry.parquet" for trial in trials]
        return telemetry.merge([p for p in parts if p.is_file()], self.telemetry_path)

    @property
    def telemetry_path(self) -> Path:
        """telemetry.parquet; it may not exist."""
        return self.folder / "telemetry.parquet"

    # Derived results

    def write_summary(self, summaries: Iterable[Summary]) -> None:
        """summary.json (summary.csv is written from it by the analysis)."""
        self._write(
            "summary.json",
            {
                "schema_version": SCHEMA_VERSION,
                "run_id": self.run_id,
                "summaries": [asdict(summary) for summary in summaries],
            },
        )

    def summaries(self) -> list[Summary]:
        """Rows of summary.json; empty when the run was not analysed yet."""
        if not (self.folder / "summary.json").is_file():
            return []
        return [_summary(row) for row in self._read("summary.json")["summaries"]]

    @property
    def figures(self) -> Path:
        """Folder of the figures; it may not exist."""
        return self.folder / "figures"

    @property
    def report(self) -> Path:
        """report.html; it may not exist."""
        return self.folder / "report.html"

    # Files

    def _read(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            document = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"the run folder is damaged: {error}", where=str(path)) from error
        if not isinstance(document, dict):
            raise InputError("the run folder is damaged: not a JSON object", where=str(path))
        return document

    def _write(self, name: str, document: Mapping[str, Any]) -> None:
        replace_file(self.folder / name, json.dumps(document, indent=2) + "\n")

    @staticmethod
    def _cut_torn_line(path: Path) -> None:
        """Remove a last line without its end, left by a run that was killed while writing."""
        if not path.is_file():
            return
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)


def replace_file(path: Path, text: str) -> None:
    """Write a whole file so that a reader, or a crash, meets the old or the new one."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _trial(row: dict[str, Any]) -> TrialRecord:
    known = {field.name for field in fields(TrialRecord)}
    row = {key: value for key, value in row.items() if key in known}
    row["reasons"] = tuple(row["reasons"])
    row["samples"] = tuple(row["samples"])
    return TrialRecord(**row)


def _summary(row: dict[str, Any]) -> Summary:
    known = {field.name for field in fields(Summary)}
    row = {key: value for key, value in row.items() if key in known}
    for name in ("reasons", "trials", "excluded"):
        row[name] = tuple(row[name])
    return Summary(**row)
