"""Where the compiled data planes are."""

from __future__ import annotations

import os
from pathlib import Path

import sfcperf
from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import Requirement

OVERRIDE = "SFCPERF_VNF_BIN"
"""Environment variable that names a folder to look in, instead of the usual ones."""

VERSION_FILE = "version"
"""File beside the tools that `sfcperf setup` compiled. It holds the version of SFCPerf that they
belong to."""

SOURCES = Path(__file__).resolve().parents[1]
"""`make -f dataplane/Makefile` compiles the data planes here: the source tree, or the installed
package."""
_REMEDY = "`sfcperf setup` compiles it"


def folders() -> tuple[Path, ...]:
    """Return the folders that are searched: the override alone if it is set, else the source
    tree's build and the installed package."""
    if override := os.environ.get(OVERRIDE):
        return (Path(override),)
    return (SOURCES / "build" / "dataplane" / "bin", SOURCES / "dataplane" / "bin")


def requirement(name: str) -> Requirement:
    """Say whether a compiled tool is there and belongs to this version of SFCPerf. If so, the
    requirement's detail is its path. The first folder that has the tool decides."""
    for folder in folders():
        path = folder / name
        if os.access(path, os.X_OK):
            if other := _other_version(folder):
                detail = f"{path} is of SFCPerf {other}, this is {sfcperf.__version__}"
                return Requirement(name, False, detail, _REMEDY)
            return Requirement(name, True, str(path))
    places = " or ".join(map(str, folders()))
    return Requirement(name, False, f"it is not in {places}", _REMEDY)


def _other_version(folder: Path) -> str:
    """Return the version of the tools in this folder if another SFCPerf compiled them; empty if
    they are of this version, or the folder does not say."""
    try:
        version = (folder / VERSION_FILE).read_text().strip()
    except OSError:
        return ""  # of the source tree, whose make compiles what changed
    return version if version != sfcperf.__version__ else ""


def find(name: str) -> Path:
    """Return the path of a compiled tool. Raises EnvironmentLacks when it has not been built."""
    found = requirement(name)
    if not found.met:
        raise EnvironmentLacks(f"{name} is missing: {found.detail}", hint=_REMEDY)
    return Path(found.detail)
