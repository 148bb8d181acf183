"""Compile the P4 programs: `python -m sfcperf.vnfs.sfcmon.bmv2.compile` (or `make p4`)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sfcperf.environment import tools
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import Requirement
from sfcperf.vnfs import p4c
from sfcperf.vnfs.sfcmon.bmv2.programs import COMPILED, REMEDY, Program, note_sources

COMPILER = "p4c-bm2-ss"


def version() -> str:
    """Return the version of p4c. Raises EnvironmentLacks without p4c."""
    completed = subprocess.run(
        [requirement().demand(), "--version"],
        capture_output=True,
        text=True,
        timeout=p4c.TIMEOUT_S,
        check=True,
        env=without_secrets(),
    )
    # Some versions print it to stdout, others to stderr.
    match = re.search(r"Version ([0-9.]+)", completed.stdout + completed.stderr)
    if match is None:
        raise EnvironmentLacks(f"{COMPILER} --version names no version", hint=REMEDY)
    return match[1]


def compile_program(program: Program, folder: Path) -> tuple[Path, Path]:
    """Compile a program into a folder; return the files of the JSON and of the P4Info.

    The places of statements are left out of the JSON, because files of the compiler's own are at
    other places on another machine. Raises EnvironmentLacks without p4c, InputError with what it
    complains about.
    """
    compiled = folder / program.json.name
    p4info = folder / program.p4info.name
    argv = [requirement().demand(), program.source.name]
    argv += ["-o", str(compiled), "--p4runtime-files", str(p4info)]
    p4c.run(argv, program.source)
    _without_places(compiled)
    return compiled, p4info


def requirement() -> Requirement:
    """Whether p4c is there. Only whoever changes the P4 programs needs it."""
    return tools.tool(COMPILER, "", remedy=REMEDY)


def _without_places(path: Path) -> None:
    """Remove from a compiled program where each statement is in the sources."""
    document = _stripped(json.loads(path.read_text()))
    document.pop("program", None)
    document.pop("__meta__", None)
    path.write_text(json.dumps(document, separators=(",", ":"), sort_keys=False) + "\n")


def _stripped(value: Any) -> Any:
    """Return a value of JSON without the members `source_info` in it."""
    if isinstance(value, dict):
        return {key: _stripped(part) for key, part in value.items() if key != "source_info"}
    if isinstance(value, list):
        return [_stripped(part) for part in value]
    return value


def compile_all() -> None:
    """Compile all programs, and replace the compiled ones when all could be compiled."""
    with tempfile.TemporaryDirectory() as folder:
        made = [path for each in Program for path in compile_program(each, Path(folder))]
        COMPILED.mkdir(exist_ok=True)
        for path in made:
            (COMPILED / path.name).write_bytes(path.read_bytes())
    note_sources(version())


if __name__ == "__main__":
    sys.exit(p4c.exit_code(compile_all))
