"""Are the documents of a package's runs as their schemas say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sfcperf.errors import InputError
from sfcperf.package.checks import Check, judged
from sfcperf.package.opened import Package, problem_of
from sfcperf.package.read_json import MAX_WORKFLOW_BYTES, read_json
from sfcperf.results import jsonl
from sfcperf.results.documents import MAX_DOCUMENT_BYTES
from sfcperf.results.flows import FLOWS
from sfcperf.results.store import SCHEMAS, RunFile, RunStore
from sfcperf.results.tables import TELEMETRY, TrialRows

NAME = "documents"
_DOCUMENTS = {**SCHEMAS, RunFile.WORKFLOW: "workflow", RunFile.WORKFLOW_APPLIED: "workflow"}
"""Document of a run -> its schema."""
_REQUIRED = (RunFile.MANIFEST, RunFile.PLAN, RunFile.WORKFLOW, RunFile.WORKFLOW_APPLIED)
_LINES = {RunFile.TRIALS: "trial", RunFile.WARMUP: "trial", RunFile.GATE: "gate"}
"""File of a run with a document on each line -> the schema of a line."""
CHECKED = (*_DOCUMENTS, *_LINES, RunFile.WORKFLOW_BASE)
"""Files of a run whose content is checked here."""
_MAX_FINDINGS = 50
"""Largest number of findings per file."""


def check_documents(package: Package) -> Check:
    """Check each document of each run against its schema, and whether SFCPerf can read the run."""
    findings = [finding for store in package.runs for finding in run_findings(store)]
    count = len(package.runs)
    of = "the run" if count == 1 else f"{count} runs"
    return judged(NAME, findings, f"all documents of {of} match their schemas")


def run_findings(store: RunStore) -> list[str]:
    """Return what is wrong with the documents of a run folder. Rows of tables, and what no schema
    can say, are only checked if the documents fit their schemas."""
    name = store.folder.name
    found = []
    for file, schema in _DOCUMENTS.items():
        path = store.folder / file
        if path.is_file():
            found += _file_findings(path, schema)
        elif file in _REQUIRED:
            found.append(f"{name}/{file} is missing")
    for file, schema in _LINES.items():
        found += islice(_line_findings(store.folder / file, schema), _MAX_FINDINGS)
    if found:
        return found
    try:
        # Reading checks what no schema can say.
        manifest = store.manifest()
        store.trials()
        store.summaries()
        store.workflow()
        if manifest["run_id"] != name:
            found.append(f"{name}/{RunFile.MANIFEST}: it is of the run {manifest['run_id']}")
        found += _row_findings(TELEMETRY, store.telemetry_path)
        found += _row_findings(FLOWS, store.flows_path)
    except InputError as error:
        found.append(f"{name}: {error.message}")
    return found


def _file_findings(path: Path, schema: str) -> list[str]:
    """Return what is first wrong with a document of a run, as a list of one finding; an empty list
    if nothing is."""
    # Run folder and file: what a message names.
    where = "/".join(path.parts[-2:])
    try:
        # Workflows have a limit of their own, the same as in a replay.
        most = MAX_WORKFLOW_BYTES if schema == "workflow" else MAX_DOCUMENT_BYTES
        problem = problem_of(schema, read_json(path, where, max_bytes=most))
    except InputError as error:
        return [str(error)]
    return [f"{where}: {problem}"] if problem else []


def _line_findings(path: Path, schema: str) -> Iterator[str]:
    """Yield what is wrong with the lines of a file, which need not exist."""
    where = "/".join(path.parts[-2:])
    try:
        for number, document in jsonl.read(path):
            problem = problem_of(schema, document)
            if problem:
                yield f"{where}:{number}: {problem}"
        if path.is_file() and not _ends_a_line(path):
            yield f"{where}: its last line is not complete"
    except InputError as error:
        yield f"{error.where}: {error.message}"


def _ends_a_line(path: Path) -> bool:
    """Whether a file ends with a newline, or is empty."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _row_findings(kind: TrialRows, path: Path) -> list[str]:
    """Return the first thing that is wrong with the rows of a table, which need not exist."""
    where = "/".join(path.parts[-2:])
    try:
        if path.is_file():
            kind.check_rows(path)
    except InputError as error:
        return [f"{where}: {error.message}"]
    return []
