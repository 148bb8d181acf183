"""What the controller needs; nothing of it is imported here."""

from __future__ import annotations

from importlib.util import find_spec

from sfcperf.plugins import Requirement
from sfcperf.vnfs.sfcmon.bmv2.requirements import REMEDY

_LIBRARIES = ("fastapi", "finsy", "pydantic", "thriftpy2", "uvicorn")


def requirement() -> Requirement:
    """Whether the Python packages of the extra `p4` are there."""
    name = "Python packages of the SFC controller"
    missing = [library for library in _LIBRARIES if find_spec(library) is None]
    if missing:
        return Requirement(name, False, f"not installed: {', '.join(missing)}", REMEDY)
    return Requirement(name, True, "installed")
