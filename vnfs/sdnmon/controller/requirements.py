"""What the controller of SDN-Mon needs; nothing of it is imported here."""

from __future__ import annotations

from importlib.util import find_spec

from sfcperf.plugins import Requirement

_LIBRARIES = ("fastapi", "msgspec", "os_ken", "pydantic", "uvicorn")


def requirement() -> Requirement:
    """Whether the Python packages of the extra `openflow` are there."""
    name = "Python packages of the SDN-Mon controller"
    missing = [library for library in _LIBRARIES if find_spec(library) is None]
    if missing:
        remedy = "pip install 'sfcperf[openflow]'"
        detail = f"not installed: {', '.join(missing)}"
        return Requirement(name, False, detail, remedy, extra="openflow")
    return Requirement(name, True, "installed", extra="openflow")
