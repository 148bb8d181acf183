"""Run a compiler of p4c, from a command that compiles P4 programs in their place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sfcperf.environment.variables import without_secrets
from sfcperf.errors import InputError, SfcperfError

TIMEOUT_S = 600


def run(argv: Sequence[str], source: Path) -> None:
    """Run a compiler in the folder of the source, which `argv` names without that folder. Raises
    InputError with what the compiler says on stderr, even if that is only a warning."""
    completed = subprocess.run(
        argv,
        cwd=source.parent,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=without_secrets(),
    )
    if completed.returncode != 0 or completed.stderr:
        raise InputError(completed.stderr.strip(), where=source.name)


def exit_code(compile_all: Callable[[], None]) -> int:
    """Call `compile_all`, and return the exit code for the command: 0, or that of its SfcperfError,
    which is printed on stderr."""
    try:
        compile_all()
    except SfcperfError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return int(error.exit_code)
    return 0
