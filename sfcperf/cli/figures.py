"""`sfcperf figures`."""

from __future__ import annotations

from sfcperf.errors import EnvironmentLacks


def figures() -> None:
    """Draw the figures of a run for a paper."""
    raise EnvironmentLacks("not there yet")
