"""`sfcperf index`."""

from __future__ import annotations

from sfcperf.errors import EnvironmentLacks


def index() -> None:
    """Send runs to Elasticsearch."""
    raise EnvironmentLacks("not there yet")
