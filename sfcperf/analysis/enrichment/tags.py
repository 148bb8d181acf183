"""Tags, and the files that they come from."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfcperf.input_file import read_input

SubjectKind = Literal["trial", "source"]

MAX_BYTES = 2**30
"""Largest file that is read; GeoLite2-City has about 60 MB."""


@dataclass(frozen=True)
class Tag:
    """A fact from outside the run about a trial or a source of telemetry."""

    subject: SubjectKind
    id: str
    """Trial id, or name of the source."""
    tag: str
    """Name of the tag."""
    value: str | int | float | bool
    file: str
    """File that the tag comes from, as the workflow names it."""


@dataclass(frozen=True)
class TagMatches:
    """Tags that a file gives to the trials or sources of a run, and what found no match."""

    tags: Sequence[Tag]
    matched: int
    """Number of trials or sources that the file has tags for."""
    unmatched_values: Sequence[str]
    """Values in this run that are not in the file."""
    unmatched_rows: Sequence[Mapping[str, Any]] = ()
    """Rows of a table that match nothing in this run: line and key."""


@dataclass(frozen=True)
class Subjects:
    """The trials or sources of a run, grouped by their texts in the columns that a file's key is
    matched against."""

    kind: SubjectKind
    by_key: Mapping[tuple[str, ...], Sequence[str]]
    """Texts, in the order of the columns -> ids of the trials or sources."""
    without: int = 0
    """Number of trials without a value in one of the columns."""


@dataclass(frozen=True)
class TagFile(ABC):
    """A file with tags, read and checked (`read_table`, `open_database`). The analysis `enrich`
    calls `match` once per file."""

    kind: ClassVar[Literal["csv", "mmdb"]]
    file: str
    """Path of the file as the workflow names it."""
    sha256: str
    columns: tuple[str, ...]
    """Columns of trials, or `source`, that the file's key is matched against."""
    names: tuple[str, ...]
    """Names of the tags that the file can give."""

    @abstractmethod
    def match(self, subjects: Subjects) -> TagMatches:
        """Return tags for the subjects, and what has no match. Raises InputError if the file is
        damaged."""


def read_bytes(folder: Path, file: str) -> tuple[bytes, str]:
    """Return the content of a file, and its SHA-256. `file` is relative to the workflow's `folder`.
    Raises InputError if it cannot be read or exceeds MAX_BYTES."""
    content = read_input(
        folder / file,
        "the file with tags",
        max_bytes=MAX_BYTES,
        hint="paths start at the workflow's folder",
    )
    return content, hashlib.sha256(content).hexdigest()
