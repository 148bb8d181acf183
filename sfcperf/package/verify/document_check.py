"""Are the documents of a package's runs as their schemas say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.package.checks import Check, judged
from sfcperf.package.layout import MAX_DOCUMENT_BYTES
from sfcperf.package.opened import Package, misfits
from sfcperf.package.read_json import parse_json, read_json
from sfcperf.results import telemetry
from sfcperf.results.store import RunFile, RunStore

NAME = "documents"
_DOCUMENTS = {
    RunFile.MANIFEST: "run",
    RunFile.PLAN: "plan",
    RunFile.WORKFLOW: "workflow",
    RunFile.WORKFLOW_APPLIED: "workflow",
}
_DERIVED = {
    RunFile.SUMMARY: "summary",
    RunFile.TAGS: "tags",
    RunFile.CORRELATIONS: "correlations",
    RunFile.STEADY: "steady",
    RunFile.ATTRIBUTION: "attribution",
}
"""What a run may lack."""
_LINES = {RunFile.TRIALS: "trial", RunFile.WARMUP: "trial", RunFile.GATE: "gate"}
_MAX_TELEMETRY_ROWS = 1 << 28


def check_documents(package: Package) -> Check:
    """Each document of each run; a run that its own reader refuses is found as well."""
    findings = [finding for store in package.runs for finding in run_findings(store)]
    count = len(package.runs)
    of = "the run" if count == 1 else f"{count} runs"
    return judged(NAME, findings, f"all documents of {of} match their schemas")


def run_findings(store: RunStore) -> list[str]:
    """What is wrong with the documents of a run folder."""
    name = store.folder.name
    found = []
    for file, schema in {**_DOCUMENTS, **_DERIVED}.items():
        path = store.folder / file
        if path.is_file():
            found += _file_findings(path, schema)
        elif file in _DOCUMENTS:
            found.append(f"{name}/{file} is missing")
    for file, schema in _LINES.items():
        found += _line_findings(store.folder / file, schema)
    if found:
        return found
    try:
        manifest = store.manifest()
        store.trials()
        store.summaries()
        store.workflow()
        if manifest["run_id"] != name:
            found.append(f"{name}/{RunFile.MANIFEST}: it is of the run {manifest['run_id']}")
        found += _telemetry_findings(store.folder / RunFile.TELEMETRY)
    except InputError as error:
        found.append(f"{name}: {error.message}")
    return found


def _file_findings(path: Path, schema: str) -> list[str]:
    where = "/".join(path.parts[-2:])
    try:
        return [f"{where}: {text}" for text in misfits(schema, read_json(path))]
    except InputError as error:
        return [str(error)]


def _line_findings(path: Path, schema: str) -> Iterator[str]:
    where = "/".join(path.parts[-2:])
    if not path.is_file():
        return
    if path.stat().st_size > MAX_DOCUMENT_BYTES:
        yield f"{where} is larger than {MAX_DOCUMENT_BYTES} bytes"
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                document = parse_json(line, f"{where}:{number}")
            except InputError as error:
                yield str(error)
            else:
                found = misfits(schema, _representative(document))
                yield from (f"{where}:{number}: {text}" for text in found)


def _representative(trial: Any) -> Any:
    """A trial with few of its samples: of those that differ in nothing but their value the one
    with the largest. It fits the schema when all do, and is checked a hundred times faster."""
    samples = trial.get("samples") if isinstance(trial, dict) else None
    if not isinstance(samples, list) or not all(isinstance(s, dict) for s in samples):
        return trial
    kept: dict[str, dict[str, Any]] = {}
    for sample in samples:
        value = sample.get("value")
        number = isinstance(value, int | float)
        kind = repr([type(value), *((k, v) for k, v in sample.items() if k != "value")])
        if kind not in kept or (number and abs(value) > abs(kept[kind]["value"])):
            kept[kind] = sample
    return {**trial, "samples": list(kept.values())}


def _telemetry_findings(path: Path) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        return []
    where = "/".join(path.parts[-2:])
    try:
        metadata = pyarrow.parquet.read_metadata(path)
    except (OSError, pyarrow.ArrowException) as error:
        return [f"{where}: not Parquet: {error}"]
    if metadata.num_rows > _MAX_TELEMETRY_ROWS:
        return [f"{where}: it has {metadata.num_rows} rows"]
    try:
        telemetry.read(path)
    except (OSError, pyarrow.ArrowException, InputError) as error:
        return [f"{where}: {error}"]
    return []
