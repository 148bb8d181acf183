"""Tables of scenarios for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sfcperf.presentation.levels import Levels, level_text
from sfcperf.presentation.units import metric_title
from sfcperf.results.tables import factor_names

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


class _HasScenario(Protocol):
    """A row about one metric of one probe in one scenario."""

    @property
    def scenario(self) -> Levels: ...

    @property
    def label(self) -> str: ...

    @property
    def metric(self) -> str: ...


Row = TypeVar("Row", bound=_HasScenario)


def scenario_table(
    rows: Sequence[Row],
    columns: Mapping[str, Mapping[str, Any]],
    cells: Callable[[Row], Iterable[Text]],
    **options: Any,
) -> Table:
    """Make a table with a line for each row. It has a column for each factor, then `columns`
    (header -> options of rich's add_column): the first of these is the metric, the others hold the
    `cells` of the row. A rule separates scenarios. `options` are rich's for the table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    factors = factor_names(row.scenario for row in rows)
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, **options
    )
    # Factor names and labels are the user's words. Text makes rich show `[red]` and not obey it.
    for name in factors:
        table.add_column(Text(name.replace("_", " ")), overflow="fold")
    for header, of_column in columns.items():
        table.add_column(header, **of_column)
    previous: Row | None = None
    for row in rows:
        if previous is not None and previous.scenario != row.scenario:
            table.add_section()
        previous = row
        levels = (Text(level_text(row.scenario.get(name, ""))) for name in factors)
        table.add_row(*levels, Text(f"{row.label} {metric_title(row.metric)}"), *cells(row))
    return table
