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


def state_folder(name: str) -> Path:
    """A folder in the state root, where nobody else has anything to do; made if it is not there.
    Raises OSError."""
    folder = state_root() / name
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
