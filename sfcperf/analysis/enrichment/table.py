"""Tags from the row of a CSV file whose key columns match exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from sfcperf import table_input
from sfcperf.analysis.enrichment.tags import Subjects, Tag, TagFile, TagMatches, read_bytes
from sfcperf.errors import InputError


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    line: int
    """Line in the file, from 1; the first line if the row has several."""
    tags: Mapping[str, str]
    """Tag -> the text of its cell; empty cells give no tag."""


@dataclass(frozen=True)
class Table(TagFile):
    """A CSV file with a header; the names of its tags are those of its columns with a prefix."""

    kind: ClassVar[Literal["csv", "mmdb"]] = "csv"
    key: tuple[str, ...]
    """Names of the key columns."""
    rows: Mapping[tuple[str, ...], Row]
    """Texts in the key columns -> row."""

    def match(self, subjects: Subjects) -> TagMatches:
        """Return the tags of the subjects whose texts equal the key of a row."""
        matches = {key: ids for key, ids in subjects.by_key.items() if key in self.rows}
        tags = [
            Tag(subjects.kind, id, name, value, self.file)
            for key, ids in matches.items()
            for id in ids
            for name, value in self.rows[key].tags.items()
        ]
        return TagMatches(
            tags,
            matched=sum(map(len, matches.values())),
            unmatched_values=[", ".join(key) for key in subjects.by_key if key not in matches],
            unmatched_rows=[
                {"line": row.line, "key": dict(zip(self.key, key, strict=True))}
                for key, row in self.rows.items()
                if key not in matches
            ],
        )


def read_table(
    folder: Path,
    file: str,
    match: Mapping[str, str],
    *,
    tags: Sequence[str] | None = None,
    prefix: str = "",
    delimiter: str = ",",
) -> Table:
    """Read a table in UTF-8; white space around cells and empty lines are ignored.

    `match`: key column -> column of trials; `tags`: columns that become tags, None: all but the
    key; `prefix`: what the tags' names begin with. Raises InputError with file and line, also for a
    key that two rows have.
    """
    key = tuple(match)
    content, sha256 = read_bytes(folder, file)
    path = str(folder / file)
    table = table_input.parse(content, path, delimiter=delimiter)
    header = table.header
    chosen = [name for name in header if name not in key] if tags is None else list(tags)
    for name in (*key, *chosen):
        if name not in header:
            where = f"{path}:{table.header_line}"
            raise InputError(f"there is no column {name!r}", where=where, allowed=", ".join(header))
    places = {name: place for place, name in enumerate(header)}
    rows: dict[tuple[str, ...], Row] = {}
    for line, cells in table.rows:
        texts = tuple(cells[places[name]] for name in key)
        if texts in rows:
            raise InputError(
                f"the key {', '.join(texts)} is a duplicate of line {rows[texts].line}",
                where=f"{path}:{line}",
                allowed="one row per key",
            )
        values = {prefix + name: cells[places[name]] for name in chosen if cells[places[name]]}
        rows[texts] = Row(line, values)
    names = tuple(prefix + name for name in chosen)
    return Table(file, sha256, tuple(match.values()), names, key, rows)
