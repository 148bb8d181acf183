"""Commands of the services' own tools, with their output in a log."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sfcperf.errors import EnvironmentLacks

LINES_SHOWN = 12


def run(argv: list[str], log: Path) -> None:
    """Run, with the output appended to `log`; raises `EnvironmentLacks` with its last lines."""
    with log.open("ab") as output:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
    if done.returncode:
        raise EnvironmentLacks(
            f"{' '.join(argv[:3])} ended with {done.returncode}; the end of {log}:\n{tail(log)}"
        )


def tail(log: Path) -> str:
    """The last lines of a log, as they are."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return "(there is no such file)"
    return "\n".join(line[:300] for line in lines[-LINES_SHOWN:]) or "(it is empty)"
