"""The summaries as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfcperf.visualization import units
from sfcperf.visualization.series import level_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from sfcperf.results.records import Summary


def summary_table(summaries: Sequence[Summary], *, all_metrics: bool = False) -> Table:
    """One row per scenario, probe and metric: mean ± half-width, CI, number of trials that
    count with ✓ when those are all, ✗ when some were untrusted, failed or not run.

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
    table.add_column("mean", justify="right", no_wrap=True)
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
    return table


def _scale(row: Summary, rows: Sequence[Summary]) -> units.Scale:
    same = [r.mean for r in rows if (r.label, r.metric) == (row.label, row.metric)]
    return units.scale_for([mean for mean in same if mean is not None], row.unit, row.metric)


def _numbers(row: Summary, scale: units.Scale) -> tuple[Text, Text]:
    """Mean with half-width and unit, interval in the same unit."""
    from rich.text import Text

    mean = None if row.mean is None else row.mean * scale.factor
    if row.ci_low is None or row.ci_high is None:
        return Text(units.with_unit(units.number(mean), scale.unit)), Text("–")
    low, high = row.ci_low * scale.factor, row.ci_high * scale.factor
    half_width = (high - low) / 2
    interval = f"[{units.number(low, half_width)}, {units.number(high, half_width)}]"
    return Text(units.with_unit(units.estimate(mean, half_width), scale.unit)), Text(interval)


def _trials(row: Summary) -> Text:
    """How many trials count, and whether they are all that were run."""
    from rich.text import Text

    if row.valid:
        return Text(f"{row.n} ✓", style="green")
    of_all = f" of {row.n + len(row.excluded)}" if row.excluded else ""
    return Text(f"{row.n}{of_all} ✗", style="bold yellow")


def _interval_title(rows: Sequence[Summary]) -> str:
    levels = sorted({row.confidence for row in rows})
    return " / ".join(f"{100 * level:g} %" for level in levels) + " CI" if levels else "CI"
