"""Runs commands that only tell something about this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from sfcperf.environment.variables import without_secrets


def ask(argv: Sequence[str], *, timeout_s: float) -> subprocess.CompletedProcess[bytes] | None:
    """Run a command without input, and return its status and outputs, whatever the status is; None
    if it cannot start or does not end in time."""
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            env=without_secrets(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
