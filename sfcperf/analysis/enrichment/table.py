"""Tags from a CSV file: the row whose key columns match, exactly."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf.analysis.enrichment.source_file import read_bytes, sha256
from sfcperf.analysis.enrichment.subjects import Subjects
from sfcperf.analysis.enrichment.tag import Harvest, Tag
from sfcperf.errors import InputError


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    line: int
    """In the file, from 1; of a row over several lines the last."""
    tags: Mapping[str, str]
    """Cells that are not empty, by the name of the tag."""


@dataclass(frozen=True)
class Table:
    """A CSV file with a header, read and checked."""

    file: str
    sha256: str
    key: tuple[str, ...]
    """Key columns."""
    names: tuple[str, ...]
    """Tags: a column's name with the prefix."""
    rows: Mapping[tuple[str, ...], Row]
    """By the texts in the key columns."""


def read_table(
    folder: Path,
    file: str,
    key: Sequence[str],
    *,
    tags: Sequence[str] | None = None,
    prefix: str = "",
    delimiter: str = ",",
) -> Table:
    """A table in UTF-8; white space around cells does not count, empty lines are passed over.

    `tags` are columns; None: all but the key's. Raises InputError with file and line.
    """
    content = read_bytes(folder, file)
    path = str(folder / file)
    lines = _lines(content, path, delimiter)
    if not lines:
        raise InputError("the table is empty: it has no header", where=path)
    header_line, header = lines[0]
    chosen = [name for name in header if name not in key] if tags is None else list(tags)
    _check_header(header, [*key, *chosen], f"{path}:{header_line}")
    places = {name: place for place, name in enumerate(header)}
    rows: dict[tuple[str, ...], Row] = {}
    for line, cells in lines[1:]:
        if len(cells) != len(header):
            raise InputError(
                f"{len(cells)} cells, but the header has {len(header)}", where=f"{path}:{line}"
            )
        found = tuple(cells[places[name]] for name in key)
        if found in rows:
            raise InputError(
                f"the key {', '.join(found)} is there already, in line {rows[found].line}",
                where=f"{path}:{line}",
                allowed="one row per key",
            )
        values = {prefix + name: cells[places[name]] for name in chosen if cells[places[name]]}
        rows[found] = Row(line, values)
    names = tuple(prefix + name for name in chosen)
    return Table(file, sha256(content), tuple(key), names, rows)


def harvest_table(table: Table, subjects: Subjects) -> Harvest:
    """What a table says of the subjects, and what does not meet."""
    tags = [
        Tag(subjects.kind, id, name, value, table.file)
        for key, ids in subjects.by_key.items()
        if key in table.rows
        for id in ids
        for name, value in table.rows[key].tags.items()
    ]
    return Harvest(
        file=table.file,
        sha256=table.sha256,
        kind="csv",
        names=table.names,
        tags=tuple(tags),
        matched=sum(len(ids) for key, ids in subjects.by_key.items() if key in table.rows),
        unmatched_rows=tuple(
            {"line": row.line, "key": dict(zip(table.key, key, strict=True))}
            for key, row in table.rows.items()
            if key not in subjects.by_key
        ),
        unmatched_values=tuple(", ".join(key) for key in subjects.by_key if key not in table.rows),
        without=subjects.without,
    )


def _lines(content: bytes, path: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """(Line, cells) of each line that has any."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("this is not UTF-8", where=f"{path}:{line}") from error
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines = []
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                lines.append((reader.line_num, stripped))
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}", where=f"{path}:{reader.line_num}") from error
    return lines


def _check_header(header: Sequence[str], wanted: Sequence[str], where: str) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"the column {twice[0]!r} is there twice", where=where)
    for name in wanted:
        if name not in header:
            raise InputError(f"there is no column {name!r}", where=where, allowed=", ".join(header))
