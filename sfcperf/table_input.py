"""Reads a table that somebody else may have written: CSV (RFC 4180) with a header, in UTF-8.

Spreadsheets add a byte order mark, quotes, blank lines and spaces. None of these changes the table.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfcperf.counts import count_text
from sfcperf.errors import InputError

MAX_BYTES = 2**28
"""Largest size of a table; callers check it as they read the file."""
_PART_BYTES = 1 << 20


@dataclass(frozen=True)
class Table:
    """A header, and the rows below it. The rows can be iterated over only once."""

    header: tuple[str, ...]
    header_line: int
    rows: Iterator[tuple[int, list[str]]]
    """Yields line number and cells of each row. The number counts from 1; for a row of several
    lines it is the first one. There are as many cells as in the header. Raises InputError, which
    names the line."""


def parse(content: bytes, path: str, *, delimiter: str = ",") -> Table:
    """Read the table in a file's content. White space around cells is removed, and rows without any
    text are left out. Raises InputError, which names file and line, and a byte that is not
    UTF-8."""
    rows = _rows(_text(content, path), path, delimiter)
    first = next(rows, None)
    if first is None:
        raise InputError("the table is empty: it has no header", where=path)
    line, header = first
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(f"there are two columns {repeated[0]!r}", where=f"{path}:{line}")
    return Table(tuple(header), line, _complete(rows, header, path))


def _text(content: bytes, path: str) -> io.TextIOWrapper:
    """Open the content as text that is read line by line, with line ends as they are. It is also
    checked in parts: a copy as one text would take four times the memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    end = 0
    try:
        while end < len(content):
            part = content[end : end + _PART_BYTES]
            end += len(part)
            decoder.decode(part, final=end == len(content))
    except UnicodeDecodeError as error:
        # The decoder kept the bytes of a character that the part before cut in two.
        start = end - len(error.object) + error.start
        line = content.count(b"\n", 0, start) + 1
        byte = start - content.rfind(b"\n", 0, start)
        raise InputError(
            f"byte {byte} of the line (0x{content[start]:02x}) is not UTF-8",
            where=f"{path}:{line}",
            allowed="UTF-8, with or without a byte order mark",
            hint="export it as UTF-8, or convert it with `iconv -f WINDOWS-1252 -t UTF-8`",
        ) from None
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")


def _rows(text: io.TextIOWrapper, path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that have any text, each with its first line's number. Raises InputError."""
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield line, stripped
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}", where=f"{path}:{line}") from error


def _complete(
    rows: Iterator[tuple[int, list[str]]], header: Sequence[str], path: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows; raise InputError for one that has not as many cells as the header."""
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(
                f"{count_text(len(cells), 'cell')}, but the header has {len(header)}",
                where=f"{path}:{line}",
            )
        yield line, cells
