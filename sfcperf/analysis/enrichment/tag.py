"""Tags, and what each file gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

SubjectKind = Literal["trial", "source"]


@dataclass(frozen=True)
class Tag:
    """What is known of a trial or of a source of telemetry from outside the run."""

    subject: SubjectKind
    id: str
    """Trial id, or name of the source."""
    tag: str
    value: str | int | float | bool
    file: str
    """Where it comes from, as the workflow names it."""


@dataclass(frozen=True)
class Harvest:
    """What one file gave."""

    file: str
    sha256: str
    kind: Literal["csv", "mmdb"]
    names: tuple[str, ...]
    """Tags that it can give."""
    tags: tuple[Tag, ...]
    matched: int
    """Trials or sources that it says something of."""
    unmatched_rows: tuple[Mapping[str, Any], ...]
    """Rows of a table that match nothing in this run: line and key."""
    unmatched_values: tuple[str, ...]
    """Values in this run of which the file says nothing."""
    without: int
    """Trials without a value to look for."""
