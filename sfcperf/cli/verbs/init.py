"""`sfcperf init DIR` and `sfcperf schema`: a folder to begin with, and what editors need."""

from __future__ import annotations

import json
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from sfcperf.errors import InputError, system_errors_as

_SCHEMA = "workflow.schema.json"


class Kind(StrEnum):
    """What a new folder is for; each has a folder of files in sfcperf/cli/start."""

    CHAIN = "chain"
    PROGRAM = "program"
    PROXY = "proxy"


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to make, or an empty one.")
    ] = Path(),
    kind: Annotated[
        Kind,
        typer.Option(
            "--kind",
            help="What to begin with: `chain` compares a chain without and with a firewall, "
            "`program` measures a VNF of your own, a program in any language, `proxy` one that "
            "ends connections.",
        ),
    ] = Kind.CHAIN,
) -> None:
    """Write a workflow to begin with, in a folder of its own. With it come the schema for
    editors, a README that explains the files, and what the workflow needs, such as the program
    of `--kind program`. Replaces no file."""
    start = files("sfcperf.cli") / "start" / kind
    names = [*sorted(file.name for file in start.iterdir() if file.is_file()), _SCHEMA]
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise InputError(
            f"{', '.join(there)} would be replaced", where=str(folder), hint="name another folder"
        )
    with system_errors_as(InputError, "the folder cannot be written", where=str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            content = _schema().encode() if name == _SCHEMA else (start / name).read_bytes()
            (folder / name).write_bytes(content)
            if content.startswith(b"#!"):
                (folder / name).chmod(0o755)
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
