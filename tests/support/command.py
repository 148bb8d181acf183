"""The `sfcperf` command as a process."""

from __future__ import annotations

import subprocess
import sys

from support.signals import default_signals

COMMAND = [sys.executable, "-c", "from sfcperf.cli.main import main; main()"]


def spawn(*argv: object, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """With these arguments, text on its pipes, and the signals of a terminal."""
    return subprocess.Popen(
        [*COMMAND, *map(str, argv)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        preexec_fn=default_signals,
    )
