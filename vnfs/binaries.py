"""Where the compiled data planes are."""

from __future__ import annotations

import os
from pathlib import Path

from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import Requirement

OVERRIDE = "SFCPERF_VNF_BIN"
"""Environment variable: a folder to look in, instead of the usual ones."""

_HERE = Path(__file__).resolve().parent
_REMEDY = "`make setup` in the source tree compiles it"


def folders() -> tuple[Path, ...]:
    """Folders that are searched: the override alone, else the source tree's build and the
    installed package."""
    if override := os.environ.get(OVERRIDE):
        return (Path(override),)
    return (_HERE.parent / "build" / "vnfs" / "bin", _HERE / "bin")


def requirement(name: str) -> Requirement:
    """Whether a compiled tool is there."""
    for folder in folders():
        path = folder / name
        if os.access(path, os.X_OK):
            return Requirement(name, True, str(path))
    places = " or ".join(map(str, folders()))
    return Requirement(name, False, f"it is not in {places}", _REMEDY)


def find(name: str) -> Path:
    """Path of a compiled tool. Raises EnvironmentLacks when it has not been built."""
    found = requirement(name)
    if not found.met:
        raise EnvironmentLacks(f"{name} is missing: {found.detail}", hint=_REMEDY)
    return Path(found.detail)
