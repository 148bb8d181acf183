"""The summaries as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfcperf.presentation import units
from sfcperf.presentation.terminal import scenario_table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from sfcperf.results.records import Summary


def summary_table(summaries: Sequence[Summary], *, all_metrics: bool = False) -> Table:
    """One row per scenario, probe and metric: mean ± half-width, CI, number of trials that
    count with ✓ when those are all, ✗ when some were untrusted, failed or not run, and ! when
    the report has a warning about them. Where the median describes the trials better, it is shown
    instead, with its interval, and named.

    Only primary metrics unless `all_metrics`. Within a metric all rows share one unit, so that
    they can be compared by eye.
    """
    rows = [row for row in summaries if all_metrics or row.primary]
    number = {"justify": "right", "no_wrap": True}
    columns: dict[str, dict[str, Any]] = {
        "metric": {"no_wrap": True},
        "mean or median" if any(map(_shows_median, rows)) else "mean": number,
        _interval_title(rows): number,
        "trials": {"no_wrap": True},
    }
    table = scenario_table(
        rows, columns, lambda row: (*_numbers(row, _scale(row, rows)), _trials(row))
    )
    if any(row.warnings for row in rows):
        table.caption = "!: has a warning, see `sfcperf report`"
        table.caption_justify = "left"
    return table


def _scale(row: Summary, rows: Sequence[Summary]) -> units.Scale:
    same = [r.mean for r in rows if (r.label, r.metric) == (row.label, row.metric)]
    return units.scale_for([mean for mean in same if mean is not None], row.unit, row.metric)


def _numbers(row: Summary, scale: units.Scale) -> tuple[Text, Text]:
    """Mean with half-width and unit, or median; its interval in the same unit."""
    from rich.text import Text

    median = _shows_median(row)
    value = row.median if median else row.mean
    low, high = (row.median_ci_low, row.median_ci_high) if median else (row.ci_low, row.ci_high)
    half_width = units.half_width(low, high)
    # An interval of order statistics is seldom symmetric: ± would say that it is.
    text = (scale.number if median else scale.estimate)(value, half_width)
    named = ("median " if median else "") + scale.with_unit(text)
    return Text(named), Text(scale.interval(low, high))


def _shows_median(row: Summary) -> bool:
    return row.centre == "median" and row.median_ci_low is not None


def _trials(row: Summary) -> Text:
    """How many trials count, whether they are all that were planned, and whether to look twice."""
    from rich.text import Text

    warned = " !" if row.warnings else ""
    if row.valid:
        return Text(f"{row.n} ✓{warned}", style="yellow" if warned else "green")
    planned = row.planned or row.n + len(row.excluded)
    of_all = f" of {planned}" if planned > row.n else ""
    return Text(f"{row.n}{of_all} ✗{warned}", style="bold yellow")


def _interval_title(rows: Sequence[Summary]) -> str:
    levels = sorted({row.confidence for row in rows})
    return " / ".join(f"{100 * level:g} %" for level in levels) + " CI" if levels else "CI"
