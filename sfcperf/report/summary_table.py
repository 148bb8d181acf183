"""The summaries as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfcperf.figures.plot import level_text
from sfcperf.presentation import units

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
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [row for row in summaries if all_metrics or row.primary]
    factors = list(dict.fromkeys(name for row in rows for name in row.scenario))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    # Factor names and labels are the user's words: Text, so that `[red]` is shown, not obeyed.
    for name in factors:
        table.add_column(Text(name.replace("_", " ")))
    table.add_column("metric", no_wrap=True)
    medians = any(_shows_median(row) for row in rows)
    table.add_column("mean or median" if medians else "mean", justify="right", no_wrap=True)
    table.add_column(_interval_title(rows), justify="right", no_wrap=True)
    table.add_column("trials", no_wrap=True)
    previous: Summary | None = None
    for row in rows:
        if previous is not None and previous.scenario != row.scenario:
            table.add_section()
        previous = row
        table.add_row(
            *(Text(level_text(row.scenario.get(name, ""))) for name in factors),
            Text(f"{row.label} {units.metric_title(row.metric)}"),
            *_numbers(row, _scale(row, rows)),
            _trials(row),
        )
    if any(row.warnings for row in rows):
        table.caption = "!: a warning, see `sfcperf report`"
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
    centre = None if value is None else value * scale.factor
    if low is None or high is None:
        return Text(units.with_unit(units.number(centre), scale.unit)), Text("–")
    low, high = low * scale.factor, high * scale.factor
    half_width = (high - low) / 2
    interval = Text(f"[{units.number(low, half_width)}, {units.number(high, half_width)}]")
    # An interval of order statistics is seldom symmetric: ± would say that it is.
    text = units.number(centre, half_width) if median else units.estimate(centre, half_width)
    return Text(("median " if median else "") + units.with_unit(text, scale.unit)), interval


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
