"""What the controller needs. Nothing of it is imported here."""

from __future__ import annotations

from sfcperf.environment import tools
from sfcperf.plugins import Requirement

_LIBRARIES = ("fastapi", "finsy", "pydantic", "thriftpy2", "uvicorn")


def requirement() -> Requirement:
    """Say whether the Python packages of the extra `p4` are there."""
    return tools.python_packages(_LIBRARIES, "p4")
