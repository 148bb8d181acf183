"""`sfcperf query RUN... "SQL"`: query run folders with SQL."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfcperf.cli.arguments import RESULTS, OutputOption, ResultsOption
from sfcperf.counts import count_text
from sfcperf.errors import InputError, system_errors_as

if TYPE_CHECKING:
    from sfcperf.query.engine import RunDatabase
    from sfcperf.results.store import RunStore


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def query(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='RUN... ["SQL"]',
            help="Run folders, or their names (or patterns such as '2026*') in --results, then a "
            "query. `-` reads the query from stdin. Without a query, lists views and columns.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Query all runs in --results.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="Output format.")] = (Format.TABLE),
    output: OutputOption = None,
    results: ResultsOption = RESULTS,
) -> None:
    """Query one run or many with SQL (DuckDB). A query can read nothing but these runs."""
    from sfcperf.query.engine import opened

    runs, sql = _split(words or [])
    stores = _stores(runs, every, results)
    with opened(stores) as database:
        if sql is None:
            _list_views(database)
        else:
            _answer(database, sql, format_, output, stores)


def _split(words: list[str]) -> tuple[list[str], str | None]:
    """Split the words of the command line into runs and SQL (None if there is none). The SQL is the
    last word if it contains white space: every query does, and names of runs do not. If the last
    word is `-`, the SQL comes from stdin."""
    if not words:
        return [], None
    last = words[-1]
    if last == "-":
        return words[:-1], sys.stdin.read()
    if not last.strip():
        raise InputError("the query is empty", where="SQL")
    if any(c.isspace() for c in last) and not _is_path(last):
        return words[:-1], last
    return words, None


def _is_path(word: str) -> bool:
    """Whether a file or folder has this name. A long query is none: the system refuses it as a
    path."""
    try:
        return Path(word).exists()
    except OSError:
        return False


def _stores(names: list[str], every: bool, results: Path) -> list[RunStore]:
    """Open the runs that the user named or that fit his patterns, or every run in `results`; each
    one once. Raises InputError if there is none."""
    from sfcperf.cli.inputs import open_run, read_runs
    from sfcperf.results.runs import list_runs

    if every and names:
        raise InputError(
            "runs cannot be combined with --all", where=names[0], allowed="one or the other"
        )
    patterns = ["*"] if every else [n for n in names if set(n) & set("*?[") and not _is_path(n)]
    known = [run.folder for run in list_runs(results)] if patterns else []
    stores = []
    for name in ["*"] if every else names:
        if name not in patterns:
            stores += read_runs(name, results)
            continue
        found = [folder for folder in known if fnmatchcase(folder.name, name)]
        if not found:
            raise InputError("no run matches", where=f"{results}/{name}")
        stores += [open_run(str(folder), results) for folder in found]
    if not stores:
        raise InputError(
            "no run is named", allowed="run folders, their names in --results, or --all"
        )
    return list({store.folder.resolve(): store for store in stores}.values())


def _list_views(database: RunDatabase) -> None:
    """Print the views that queries can use, with their columns and types."""
    from sfcperf.cli.terminal.console import console

    out = console()
    for view in database.views():
        out.print(f"{view.name}: {view.about} ({count_text(view.rows, 'row')})", soft_wrap=True)
        out.print("  " + ", ".join(f"{_name(n)} {t}" for n, t in view.columns.items()) + "\n")


def _name(column: str) -> str:
    """Return a column's name as it is written in SQL: quoted if necessary."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", column) is not None
    return column if plain else '"' + column.replace('"', '""') + '"'


def _answer(
    database: RunDatabase, sql: str, format_: Format, output: Path | None, stores: list[RunStore]
) -> None:
    """Run a query, and write its rows to a file or to stdout (None). Raises InputError. `stores`:
    the runs, of which no document may be replaced."""
    from sfcperf.cli.terminal.streams import drop_stdout, strict_stdout
    from sfcperf.query.output import write_parquet, write_text
    from sfcperf.results.export import check_target
    from sfcperf.results.files import replacing

    if output is None:
        if format_ is Format.PARQUET:
            raise InputError(
                "Parquet cannot be written to stdout", where="--format", hint="add -o FILE"
            )
        try:
            with database.ask(sql) as rows:
                write_text(rows, format_.value, strict_stdout())
                strict_stdout().flush()
        except BrokenPipeError:
            # A reader that has seen enough (`| head`) has gone: that is no error.
            drop_stdout()
        return
    for store in stores:
        check_target(store, output)
    with (
        system_errors_as(InputError, "the result cannot be written", where=output),
        database.ask(sql) as rows,
        replacing(output) as beside,
    ):
        if format_ is Format.PARQUET:
            write_parquet(rows, beside)
        else:
            with beside.open("w", encoding="utf-8") as file:
                write_text(rows, format_.value, file)
    print(output)
