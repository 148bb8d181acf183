"""`sfcperf init DIR` and `sfcperf schema`: a folder to begin with, and what editors need."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from sfcperf.errors import InputError, system_errors_as

_FILES = ("workflow.json", "profile.json", "README.md")
_SCHEMA = "workflow.schema.json"


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to make, or an empty one.")
    ] = Path(),
) -> None:
    """Write a workflow to begin with, in a folder of its own. With it come a profile, the
    schema for editors, and a README that explains them. Replaces no file."""
    there = [name for name in (*_FILES, _SCHEMA) if (folder / name).exists()]
    if there:
        raise InputError(
            f"{', '.join(there)} would be replaced", where=str(folder), hint="name another folder"
        )
    start = files("sfcperf.cli") / "start"
    with system_errors_as(InputError, "the folder cannot be written", where=str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (folder / name).write_bytes((start / name).read_bytes())
        (folder / _SCHEMA).write_text(_schema())
    for name in (*_FILES, _SCHEMA):
        print(folder / name)
    print(f"next: sfcperf validate {folder / 'workflow.json'}; then read {folder / 'README.md'}")


def schema() -> None:
    """Print the JSON Schema of workflows, for editors. It includes the parameters of all
    installed plug-ins. With `"$schema": "workflow.schema.json"` in a workflow, an editor
    completes its keys and explains them."""
    print(_schema(), end="")


def _schema() -> str:
    from sfcperf.workflow.schema import effective_schema

    return json.dumps(effective_schema(), indent=2) + "\n"
