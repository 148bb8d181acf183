"""Runs a compiler of p4c for the commands that compile P4 programs in their place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sfcperf.environment.variables import without_secrets
from sfcperf.errors import InputError, SfcperfError

TIMEOUT_S = 600


def run(argv: Sequence[str], source: Path) -> None:
    """Run a command line in the folder of the source, which it names without that folder. Raises
    InputError with the compiler's complaint."""
    done = subprocess.run(
        argv,
        cwd=source.parent,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=without_secrets(),
    )
    if done.returncode != 0 or done.stderr:
        raise InputError(done.stderr.strip(), where=source.name)


def exit_code(compile_all: Callable[[], None]) -> int:
    """Compile, and return the exit status of the command. An error goes to stderr."""
    try:
        compile_all()
    except SfcperfError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return int(error.exit_code)
    return 0
