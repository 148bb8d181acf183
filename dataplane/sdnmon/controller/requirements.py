"""What the controller of SDN-Mon needs; nothing of it is imported here."""

from __future__ import annotations

from sfcperf.environment import tools
from sfcperf.plugins import Requirement

_LIBRARIES = ("fastapi", "msgspec", "os_ken", "pydantic", "uvicorn")


def requirement() -> Requirement:
    """Say whether the Python packages of the extra `openflow` are there."""
    return tools.python_packages(_LIBRARIES, "openflow")
