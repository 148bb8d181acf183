"""`sfcperf pack`."""

from __future__ import annotations

from sfcperf.errors import EnvironmentLacks


def pack() -> None:
    """Pack runs into a reproducibility package."""
    raise EnvironmentLacks("not there yet")
