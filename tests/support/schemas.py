"""A run folder's documents against the shipped schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator


@cache
def validator(name: str) -> Draft202012Validator:
    """Of `schemas/NAME.schema.json`, formats included."""
    text = (resources.files("sfcperf.schemas") / f"{name}.schema.json").read_text()
    return Draft202012Validator(
        json.loads(text), format_checker=Draft202012Validator.FORMAT_CHECKER
    )


def properties(schema: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Place and schema of each property, at every depth, outside of conditions."""
    if isinstance(schema, Mapping):
        for name, value in schema.items():
            if name == "properties":
                yield from ((f"{where}/{key}", inner) for key, inner in value.items())
            if name not in ("allOf", "if", "then", "else"):
                yield from properties(value, f"{where}/{name}")
    elif isinstance(schema, list):
        for value in schema:
            yield from properties(value, where)


def violations(folder: Path) -> list[str]:
    """What in a finished run's folder is not as its schema says; empty when all is well."""
    import pyarrow.parquet

    found = []
    documents = ("workflow.json", "workflow.applied.json", "run.json", "plan.json", "summary.json")
    for file in documents:
        name = file.partition(".")[0]
        found += _errors(name, file, json.loads((folder / file).read_text()))
    for file in ("trials.jsonl", "warmup.jsonl"):
        if (folder / file).exists():
            for number, line in enumerate((folder / file).read_text().splitlines(), start=1):
                found += _errors("trial", f"{file}:{number}", json.loads(line))
    if (folder / "gate.jsonl").exists():
        for number, line in enumerate((folder / "gate.jsonl").read_text().splitlines(), start=1):
            found += _errors("gate", f"gate.jsonl:{number}", json.loads(line))
    for name in ("telemetry", "flows"):
        if (folder / f"{name}.parquet").exists():
            for row in pyarrow.parquet.read_table(folder / f"{name}.parquet").to_pylist():
                found += _errors(name, f"{name}.parquet", row)
    return found


def _errors(name: str, where: str, document: Any) -> list[str]:
    return [
        f"{where}{error.json_path}: {error.message}"
        for error in validator(name).iter_errors(document)
    ]
