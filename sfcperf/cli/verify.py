"""`sfcperf verify`."""

from __future__ import annotations

from sfcperf.errors import EnvironmentLacks


def verify() -> None:
    """Check a reproducibility package."""
    raise EnvironmentLacks("not there yet")
