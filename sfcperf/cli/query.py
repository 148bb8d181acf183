"""`sfcperf query`."""

from __future__ import annotations

from sfcperf.errors import EnvironmentLacks


def query() -> None:
    """Ask SQL of run folders."""
    raise EnvironmentLacks("not there yet")
