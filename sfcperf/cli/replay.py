"""`sfcperf replay`."""

from __future__ import annotations

from sfcperf.errors import EnvironmentLacks


def replay() -> None:
    """Rerun a package here and judge whether its results are reproduced."""
    raise EnvironmentLacks("not there yet")
