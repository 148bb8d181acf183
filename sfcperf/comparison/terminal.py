"""A comparison for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfcperf.analysis.comparison import Comparison, Row
from sfcperf.comparison import wording as words
from sfcperf.figures.plot import level_text
from sfcperf.presentation.units import metric_title

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_STYLES = {
    "better": "green",
    "worse": "bold red",
    "different": "bold yellow",
    "equivalent": "cyan",
    "undecided": "",
}
_NAMED = 6
"""Circumstances, or things without a counterpart, that are named; JSON and HTML have all."""


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """One table per candidate."""
    for side in comparison.candidates:
        rows = [row for row in comparison.rows if row.candidate == side.name]
        if rows:
            yield _table(comparison, side.name, rows)


def _table(comparison: Comparison, candidate: str, rows: list[Row]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    factors = list(dict.fromkeys(name for row in rows for name in row.scenario))
    title = Text(f"{candidate} against {comparison.baseline.name}")
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False,
        collapse_padding=True,
    )  # fmt: skip
    # Names are the user's words: Text, so that `[red]` is shown, not obeyed.
    for name in factors:
        table.add_column(Text(name.replace("_", " ")))
    table.add_column("metric")
    for name in ("baseline", "candidate", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    level = f"{100 * (1 - comparison.options.alpha):g} % CI"
    table.add_column(level, justify="right", no_wrap=True)
    table.add_column("p (Holm)", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if any(row.n_needed is not None for row in rows):
        table.add_column("n to decide", justify="right")
    previous: Row | None = None
    for row in rows:
        if previous is not None and previous.scenario != row.scenario:
            table.add_section()
        previous = row
        table.add_row(
            *(Text(level_text(row.scenario.get(name, ""))) for name in factors),
            Text(f"{row.label} {metric_title(row.metric)}"),
            *_cells(row, comparison)[: len(table.columns) - len(factors) - 1],
        )
    return table


def _cells(row: Row, comparison: Comparison) -> list[Text]:
    from rich.text import Text

    scale = words.scale_of(row, comparison.rows)
    n = f"{row.n_a}" if row.paired or row.n_a == row.n_b else f"{row.n_a}/{row.n_b}"
    verdict = f"{words.MARKS[row.verdict]} {row.verdict}"
    return [
        Text(words.centre(row.a.median, scale, row.b.median)),
        Text(words.centre(row.b.median, scale, row.a.median)),
        Text(words.relative_text(row.relative)),
        Text(words.interval_text(row.relative)),
        Text(words.p_text(row.p_holm)),
        Text(n),
        Text(verdict, style=_STYLES[row.verdict]),
        Text(words.needed_text(row)),
    ]


def comparison_texts(comparison: Comparison) -> Iterator[str]:
    """Below the tables: counts, warnings, circumstances, method."""
    yield words.counts_text(comparison)
    for warning in comparison.warnings:
        yield f"warning: {warning}"
    yield from _row_warnings(comparison)
    yield from _listed(
        "not compared",
        [
            f"{' '.join(filter(None, (item.label, item.metric))) or 'scenario'} of {item.side}"
            f"{_where(item.scenario)}: {item.reason}"
            for item in comparison.unmatched
        ],
    )
    for title, texts in words.grouped_differences(comparison):
        yield from _listed(f"differs in {title}", texts)
    caution = words.caution(comparison)
    if caution:
        yield f"note: {caution}"
    if any(row.n_needed is not None for row in comparison.rows):
        yield words.NEEDED
    yield f"method: {words.method_text(comparison)}"


def _row_warnings(comparison: Comparison) -> Iterator[str]:
    """Each text once, with the number of rows that it is about."""
    rows: dict[str, int] = {}
    for row in comparison.rows:
        for text in row.warnings:
            rows[text] = rows.get(text, 0) + 1
    for text, number in rows.items():
        many = f" ({number} rows)" if number > 1 else ""
        yield f"warning: {text}{many}"


def _listed(title: str, texts: list[str]) -> Iterator[str]:
    for text in texts[:_NAMED]:
        yield f"{title}: {text}"
    if len(texts) > _NAMED:
        yield f"{title}: {len(texts) - _NAMED} more (--json and --html name all)"


def _where(scenario: object) -> str:
    if not isinstance(scenario, dict) or not scenario:
        return ""
    return " at " + ", ".join(f"{name} {level_text(level)}" for name, level in scenario.items())
