"""The summaries as a table for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfcperf.counts import count_text
from sfcperf.presentation import units
from sfcperf.presentation.terminal import scenario_table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from sfcperf.results.records import Summary

_MOST_REASONS = 3
_CRASH, _LOSS = "crash", "loss"
_MEANINGS = {
    _CRASH: "a function crashed in an attempt that is not counted",
    _LOSS: "more was lost, failed or sent again than the probe's loss_warning; the number "
    "describes the rest",
}
"""Mark of a row -> meaning."""


def _marks(row: Summary) -> list[str]:
    """Return the marks of _MEANINGS that apply to this row."""
    return [*([_CRASH] if row.crashes else []), *([_LOSS] if row.is_lossy else [])]


def summary_table(summaries: Sequence[Summary], *, all_metrics: bool = False) -> Table:
    """Return a table with a row for each scenario, probe and metric: the declared centre, its
    interval, and the number of trials that count. After it, ✓ means that these are all trials, ✗
    that some were untrusted, failed or not run, and ! that the report has a warning about them.
    `summary_notes` explain the marks.

    Only primary metrics unless `all_metrics`. Within a metric all rows share one unit, so that
    they can be compared by eye.
    """
    rows = _shown(summaries, all_metrics)
    number = {"justify": "right", "no_wrap": True}
    columns: dict[str, dict[str, Any]] = {
        "metric": {"no_wrap": True},
        " or ".join(sorted({row.centre for row in rows})) or "median": number,
        _interval_title(rows): number,
        "trials": {"no_wrap": True},
    }
    return scenario_table(
        rows, columns, lambda row: (*_numbers(row, _scale(row, rows)), _trials(row))
    )


def summary_notes(summaries: Sequence[Summary], *, all_metrics: bool = False) -> list[str]:
    """Return lines to print below the table, at the terminal's full width: why intervals are
    missing, and what the marks of the rows mean."""
    rows = _shown(summaries, all_metrics)
    notes = [f"no interval: {reason}" for reason in _withheld(rows)]
    if any(row.warnings for row in rows):
        notes.append("!: has a warning, see `sfcperf report`")
    known = {mark for row in rows for mark in _marks(row)}
    return notes + [f"{mark}: {meaning}" for mark, meaning in _MEANINGS.items() if mark in known]


def _shown(summaries: Sequence[Summary], all_metrics: bool) -> list[Summary]:
    return [row for row in summaries if all_metrics or row.primary]


def _withheld(rows: Sequence[Summary]) -> list[str]:
    """Return the most frequent reasons why rows have no interval, with the number of rows."""
    reasons = Counter(row.estimate().withheld for row in rows if row.n)
    del reasons[""]
    return [
        f"{reason} ({count_text(n, 'row')})" for reason, n in reasons.most_common(_MOST_REASONS)
    ]


def _scale(row: Summary, rows: Sequence[Summary]) -> units.Scale:
    """Return the scale that a row shares with all of `rows` of the same probe and metric."""
    same = [r.estimate().value for r in rows if (r.label, r.metric) == (row.label, row.metric)]
    return units.scale_for([value for value in same if value is not None], row.unit, row.metric)


def _numbers(row: Summary, scale: units.Scale) -> tuple[Text, Text]:
    """Return the centre with its unit, and its interval in the same unit. The interval is given by
    its ends, as it need not be symmetric."""
    from rich.text import Text

    estimate = row.estimate()
    text = scale.number(estimate.value, units.half_width(estimate.low, estimate.high))
    return Text(scale.with_unit(text)), Text(scale.interval(estimate.low, estimate.high))


def _trials(row: Summary) -> Text:
    """Say how many trials count, whether these are all that were planned, and which warnings there
    are."""
    from rich.text import Text

    warned = "".join(f" {mark}" for mark in (*("!" if row.warnings else ""), *_marks(row)))
    if row.valid:
        return Text(f"{row.n} ✓{warned}", style="yellow" if warned else "green")
    of_all = f" of {row.planned}" if row.planned > row.n else ""
    return Text(f"{row.n}{of_all} ✗{warned}", style="bold yellow")


def _interval_title(rows: Sequence[Summary]) -> str:
    """Return the title of the column of intervals: `95 % CI`."""
    levels = sorted({row.confidence for row in rows})
    return " / ".join(f"{100 * level:g} %" for level in levels) + " CI" if levels else "CI"
