"""Time as the documents of a run folder write it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Now, ISO 8601, UTC, microseconds: `2026-01-31T12:00:00.000000+00:00`."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
