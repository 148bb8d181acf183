"""The noise floor that A/A runs show, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfcperf.analysis.comparison import FloorRow, floor_rows, percent_text
from sfcperf.presentation import units
from sfcperf.presentation.terminal import scenario_table
from sfcperf.results.store import RunStore

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def floor_table(stores: Sequence[RunStore]) -> Table:
    """Return a table of how these runs of the same thing differ, a row per scenario and metric."""
    from rich.text import Text

    number = {"justify": "right", "no_wrap": True}
    rows = floor_rows(stores)
    confidence = f"{100 * rows[0].confidence:g} %" if rows else ""

    def cells(row: FloorRow) -> list[Text]:
        """Return the cells of a row, except that of the first column."""
        scale = units.scale_for([row.mean], row.unit, row.metric)
        sizes = [
            percent_text(value) if row.ratios else scale.quantity(value)
            for value in (row.between, row.limit)
        ]
        if not row.between:
            # That these runs agree does not show that two others differ by 0 at most.
            sizes[1] = "–"
        return [Text(scale.quantity(row.mean)), Text(f"{row.runs}"), *map(Text, sizes)]

    columns = {
        "metric": {},
        "mean": number,
        "runs": number,
        "between runs": number,
        f"two runs differ by up to ({confidence})": number,
    }
    return scenario_table(rows, columns, cells)
