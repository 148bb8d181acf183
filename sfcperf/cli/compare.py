"""`sfcperf compare`."""

from __future__ import annotations

from sfcperf.errors import EnvironmentLacks


def compare() -> None:
    """Compare runs, or the variants of one run, metric by metric."""
    raise EnvironmentLacks("not there yet")
