"""The folder for all that outlives a process: state of runs, spool, private folders, errors."""

from __future__ import annotations

import os
from pathlib import Path

from sfcperf.errors import EnvironmentLacks

VARIABLE = "SFCPERF_STATE_DIR"
DEFAULT_ROOT = Path("/var/lib/sfcperf")


def state_root() -> Path:
    """Path of that folder, which may not exist: `$SFCPERF_STATE_DIR`, or by default
    /var/lib/sfcperf for root and `$XDG_STATE_HOME/sfcperf` (~/.local/state/sfcperf) for others, who
    run chains on a cloud. Raises EnvironmentLacks for a user without a home folder, as in a
    container that was started with a user number alone."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if os.geteuid() == 0:
        return DEFAULT_ROOT
    state = os.environ.get("XDG_STATE_HOME")
    try:
        return (Path(state) if state else Path.home() / ".local" / "state") / "sfcperf"
    except RuntimeError as error:
        raise EnvironmentLacks(
            f"there is no home folder of the user {os.geteuid()}, where the state of runs is kept",
            hint=f"set {VARIABLE} to a folder that you may write, or HOME",
        ) from error


def state_folder(name: str) -> Path:
    """Path of a folder in the state root; it is made if it is not there, and closed to other users.
    Raises EnvironmentLacks, OSError."""
    folder = state_root() / name
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
