"""The folder of what outlives a process: state of runs, spool, private folders, errors."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SFCPERF_STATE_DIR"
DEFAULT_ROOT = Path("/var/lib/sfcperf")


def state_root() -> Path:
    """`$SFCPERF_STATE_DIR`; by default /var/lib/sfcperf for root, and for others, who run chains on
    a cloud, a folder of their own (`$XDG_STATE_HOME/sfcperf`)."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if os.geteuid() == 0:
        return DEFAULT_ROOT
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "sfcperf"
