"""A comparison as tables and texts for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sfcperf.analysis.comparison import Comparison, Row
from sfcperf.comparison import wording
from sfcperf.comparison.sentences import sentences
from sfcperf.counts import count_text
from sfcperf.presentation.levels import scenario_text
from sfcperf.presentation.terminal import scenario_table
from sfcperf.presentation.units import metric_title

if TYPE_CHECKING:
    from rich.table import Column, Table
    from rich.text import Text

_STYLES = {
    "better": "green",
    "worse": "bold red",
    "different": "bold yellow",
    "equivalent": "cyan",
    "undecided": "",
}
_RUNS, _BETWEEN_RUNS, _BETWEEN_ROUNDS = "runs ×\nrounds", "between\nruns", "between\nrounds"
_GIVE_WAY = (
    (_BETWEEN_ROUNDS, _BETWEEN_RUNS),
    ("p (Holm)",),
    ("would decide",),
    (_RUNS, "trials"),
    ("baseline", "candidate"),
)
"""Groups of columns that a narrow terminal leaves out, those first that are missed least."""
_GAP = 2
"""Characters between columns."""
_MOST_LISTED = 6
"""Entries of a list that are shown; JSON and HTML have all."""


def comparison_tables(comparison: Comparison, width: int) -> Iterator[Table | str]:
    """Yield a table per candidate, and after it a text that names the columns that do not fit into
    `width` characters. Scenario, metric, change and verdict are never left out."""
    titles = wording.side_titles(comparison)
    for side in comparison.candidates:
        rows = [row for row in comparison.rows if row.candidate == side.name]
        if rows:
            title = f"{titles[side.name]} against {titles[comparison.baseline.name]}"
            yield from _fitting(comparison, title, rows, width)


def _fitting(
    comparison: Comparison, title: str, rows: list[Row], width: int
) -> Iterator[Table | str]:
    """Yield the table with as many columns as fit into `width` characters, and a text that names
    the others."""
    columns, left_out = _columns(comparison, rows), []
    table = _table(comparison, title, rows, columns)
    for names in _GIVE_WAY:
        if _least_width(table) <= width:
            break
        given_up = [name for name in names if columns.pop(name, None) is not None]
        left_out += [" ".join(name.split()) for name in given_up]
        table = _table(comparison, title, rows, columns)
    _spread(table, width - _least_width(table))
    yield table
    if left_out:
        yield f"no room for: {', '.join(left_out)} (--html, --json and --csv have them)"


def _spread(table: Table, spare: int) -> None:
    """Give the `spare` characters to the columns that may wrap, from the left. Left to itself, rich
    breaks words in some columns before it wraps others between words."""
    for column in table.columns:
        if spare >= 0 and not column.no_wrap:
            least, most = _widths(column)
            column.width = min(most, least + spare)
            spare -= column.width - least


def _least_width(table: Table) -> int:
    """Return the least width of a table in which no word is broken and no number is cut."""
    return sum(_widths(column)[0] for column in table.columns) + _GAP * (len(table.columns) - 1)


def _widths(column: Column) -> tuple[int, int]:
    """Return the least width of a column that breaks no word, and the width that wraps no line."""
    from rich.cells import cell_len

    text = "\n".join(map(str, (column.header, *column.cells)))
    most = max(map(cell_len, text.splitlines()))
    return (most if column.no_wrap else max(map(cell_len, text.split()))), most


def _columns(comparison: Comparison, rows: list[Row]) -> dict[str, dict[str, Any]]:
    """Map the header of each column to its options for rich's add_column."""
    number = {"justify": "right", "no_wrap": True}
    by_runs = any(row.replication for row in rows)
    trials = _RUNS if by_runs else "trials"
    columns: dict[str, dict[str, Any]] = {
        "metric": {"overflow": "fold"},
        "baseline": number,
        "candidate": number,
        "change": number,
        wording.interval_title(comparison): number,
        "p (Holm)": number,
        trials: number,
        "verdict": {"no_wrap": True},
    }
    if by_runs:
        columns |= {_BETWEEN_RUNS: number, _BETWEEN_ROUNDS: number}
    if any(row.n_needed is not None for row in rows):
        columns["would decide"] = {"justify": "right"}
    return columns


def _table(
    comparison: Comparison, title: str, rows: list[Row], columns: dict[str, dict[str, Any]]
) -> Table:
    """Make the table of rows with these columns (header -> options of rich's add_column)."""
    from rich.text import Text

    return scenario_table(
        rows,
        columns,
        lambda row: [cell for name, cell in _cells(row, comparison).items() if name in columns],
        # Names are the user's words. Text makes rich show `[red]` and not obey it.
        title=Text(title),
        title_justify="left",
    )


def _cells(row: Row, comparison: Comparison) -> dict[str, Text]:
    """Map each column to the cell of a row, in the order of columns."""
    from rich.text import Text

    scale = wording.scale_of(row, comparison.rows)
    baseline, candidate = wording.side_texts(row, scale)
    verdict = f"{wording.MARKS[row.verdict]} {row.verdict}"
    texts = {
        "baseline": baseline,
        "candidate": candidate,
        "change": wording.change_text(row),
        wording.interval_title(comparison): wording.interval_text(row.relative),
        "p (Holm)": wording.p_text(row.p_holm),
        # A table has one of these two columns.
        "trials": wording.number_text(row),
        _RUNS: wording.number_text(row),
        "verdict": verdict,
        _BETWEEN_RUNS: wording.dispersion_text(row, "between", scale),
        _BETWEEN_ROUNDS: wording.dispersion_text(row, "within", scale),
        "would decide": wording.needed_text(row),
    }
    return {
        name: Text(text, style=_STYLES[row.verdict] if name == "verdict" else "")
        for name, text in texts.items()
    }


def comparison_texts(comparison: Comparison) -> Iterator[str]:
    """Yield the lines below the tables: counts, warnings, circumstances, method, verdicts."""
    yield wording.counts_text(comparison)
    if any(map(wording.unlike_medians, comparison.rows)):
        yield f"* {wording.UNLIKE_MEDIANS}"
    for warning in comparison.warnings:
        yield f"warning: {warning}"
    yield from _row_warnings(comparison)
    if unit := wording.replication_text(comparison):
        yield f"unit: {unit}"
    yield from _listed(
        "would decide",
        [
            f"{row.label} {metric_title(row.metric)}"
            f"{' at ' if row.scenario else ''}{scenario_text(row.scenario)}: {text}"
            for row in comparison.rows
            if (text := wording.what_pays(row))
        ],
    )
    yield from _listed(
        "not compared",
        [
            f"{' '.join(filter(None, (item.label, item.metric))) or 'scenario'} of {item.side}"
            f"{' at ' if item.scenario else ''}{scenario_text(item.scenario)}: {item.reason}"
            for item in comparison.unmatched
        ],
    )
    for title, texts in wording.grouped_differences(comparison):
        yield from _listed(f"differs in {title}", texts)
    caveat = wording.caveat(comparison)
    if caveat:
        yield f"note: {caveat}"
    if any(row.family > 1 for row in comparison.rows):
        yield f"{wording.interval_title(comparison)}: {wording.INTERVALS}"
    if any(row.replication for row in comparison.rows):
        yield wording.DISPERSIONS
    if any(row.n_needed is not None for row in comparison.rows):
        yield wording.TRIALS_NEEDED
    yield f"method: {wording.method_text(comparison)}"
    yield from _listed("verdict", sentences(comparison))


def _row_warnings(comparison: Comparison) -> Iterator[str]:
    """Yield each warning of rows once, with the number of rows that it is about."""
    for text, number in Counter(text for row in comparison.rows for text in row.warnings).items():
        many = f" ({count_text(number, 'row')})" if number > 1 else ""
        yield f"warning: {text}{many}"


def _listed(title: str, texts: list[str]) -> Iterator[str]:
    """Yield the first texts, each after the title, and how many more there are."""
    for text in texts[:_MOST_LISTED]:
        yield f"{title}: {text}"
    if len(texts) > _MOST_LISTED:
        yield f"{title}: {len(texts) - _MOST_LISTED} more (--json and --html list all)"
