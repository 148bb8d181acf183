"""Columns of flat tables: a name and one type each; summary.csv."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from sfcperf.results.documents import plain
from sfcperf.results.records import Summary

if TYPE_CHECKING:
    import pyarrow

PREFIX = "factor_"
"""Prefix of a factor's column, which keeps factors called `round` or `value` distinct from ours."""

_LISTS = ("reasons", "trials", "excluded", "outliers", "warnings")
"""Fields of Summary that are lists of texts."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet computes text that begins with one of these."""
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(inf|nan)", re.IGNORECASE
)
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def factor_names(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the factors of all these scenarios, in the order of their first occurrence."""
    return list(dict.fromkeys(name for scenario in scenarios for name in scenario))


def cell(value: Any) -> Any:
    """Return a value that fits one cell: lists, objects and records become JSON text. In a text,
    bytes that are not Unicode (a path may have any) become escapes."""
    if isinstance(value, Mapping | list | tuple) or is_dataclass(value):
        return json.dumps(value, sort_keys=True, default=plain)
    if isinstance(value, str) and not value.isascii():
        return value.encode(errors="backslashreplace").decode()
    return value


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return CSV (quoted as in RFC 4180, lines end with `\\n`) with cells as `csv_cell` makes them;
    None becomes an empty cell."""
    return "".join(map(csv_line, rows))


def csv_line(cells: Iterable[object]) -> str:
    """Return one row of CSV, as in `csv_text`, with its newline."""
    text = StringIO()
    # Python's writer quotes cells that contain a character of its line end: with this one, also
    # those that contain a carriage return.
    csv.writer(text, lineterminator="\r\n").writerow(map(csv_cell, cells))
    return text.getvalue().removesuffix("\r\n") + "\n"


def csv_cell(value: object) -> object:
    """Return a value that a spreadsheet does not compute: text that it would take for a formula
    gets an apostrophe before it (OWASP, CSV Injection). Numbers stay as they are."""
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def level_array(levels: Sequence[Any]) -> pyarrow.Array:
    """Return the levels of a factor as a typed column: boolean, integer, float, or else text. A
    level that is None becomes an empty cell."""
    import pyarrow

    kinds = {type(level) for level in levels if level is not None}
    integers = [level for level in levels if type(level) is int]
    # Integers beyond 64 bits become text: no number type keeps them.
    if all(_INT64_MIN <= level <= _INT64_MAX for level in integers):
        if kinds == {bool}:
            return pyarrow.array(levels, pyarrow.bool_())
        if kinds == {int}:
            return pyarrow.array(levels, pyarrow.int64())
        if kinds in ({float}, {int, float}):
            return pyarrow.array(levels, pyarrow.float64())
    return pyarrow.array([_text(level) for level in levels], pyarrow.string())


def _text(level: Any) -> str | None:
    """Return a level as text: a text as it is, others as JSON. None stays None."""
    if level is None:
        return None
    return str(cell(level)) if isinstance(level, str) else json.dumps(level, sort_keys=True)


def summary_csv(summaries: Sequence[Summary]) -> str:
    """Return the text of summary.csv: a header, a row for each summary, and a column for each
    factor. None becomes an empty cell; lists are joined by `; `."""
    factors = factor_names(summary.scenario for summary in summaries)
    names = [field.name for field in fields(Summary) if field.name != "scenario"]
    rows = [[*(PREFIX + factor for factor in factors), *names]]
    for summary in summaries:
        levels = [cell(summary.scenario.get(factor)) for factor in factors]
        values = [
            "; ".join(value) if name in _LISTS else value
            for name, value in ((name, getattr(summary, name)) for name in names)
        ]
        rows.append([*levels, *values])
    return csv_text(rows)
