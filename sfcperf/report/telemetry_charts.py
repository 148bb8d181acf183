"""Telemetry for the report: time series thinned without losing a peak, and use per scenario.

Thinning keeps the smallest and the largest value of each bin of successive observations (min-max
decimation; Jugel et al., M4, VLDB 2014, keep the first and last as well, for pixel-exact lines).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from sfcperf.counts import count_text
from sfcperf.environment.plain_path import plain_path
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_name
from sfcperf.presentation.pages import Chart, trial_anchor
from sfcperf.results.tables import OF_MONITORS

if TYPE_CHECKING:
    import duckdb

_POINTS_PER_CHART = 4000
_POINTS_PER_MINOR_CHART = 1200
_FEWEST_BINS = 20
_MOST_SOURCES = 24

_FIRST = ("cpu", "memory", "drop", "error")
"""Words in the names of primary metrics, in the order of the page."""
_OTHER_RANK = len(_FIRST)
"""Rank of all other metrics."""

_USE = """
    SELECT metric, scenario_id, any_value(scenario), source, min(unit), avg(value),
           min(value), max(value), count(*)
    FROM telemetry WHERE metric NOT IN (SELECT unnest(?)) AND isfinite(value)
    GROUP BY metric, scenario_id, source ORDER BY metric, scenario_id, source
"""
"""Metric, scenario id, and then the fields of _ResourceUse. Parameter: metrics to leave out."""
_THINNED = """
    SELECT telemetry.metric, telemetry.source,
           arg_min({'row': row, 't': time_ns, 'v': value, 'id': trial_id}, {'v': value, 'r': row}),
           arg_max({'row': row, 't': time_ns, 'v': value, 'id': trial_id}, {'v': value, 'r': row})
    FROM telemetry JOIN wanted USING (metric, source)
    WHERE isfinite(value) GROUP BY telemetry.metric, telemetry.source, row * bins // ?
"""
"""Metric, source, and the observations with the smallest and the largest value of each bin. Bins
are equal shares of the file's rows, not of time, so that a pause in the run takes up none.
Parameter: number of rows in the file. Table `wanted`: see `_thinned`."""


@dataclass(frozen=True)
class TelemetryChart(Chart):
    """One metric over the time of the run, a line per source, and its means per scenario."""

    unit: str
    constant: bool
    """Whether every source kept one value: the page then says so, and draws nothing."""
    primary: bool
    """Whether the chart is about CPU, memory or losses, which the page shows at once."""
    use: tuple[tuple[str, str, str, str, int], ...]
    """(Scenario, source, mean, largest value, number of observations)."""


@dataclass(frozen=True)
class _ResourceUse:
    """Mean, extremes and number of a metric's observations of one source in one scenario."""

    scenario: str
    """Levels of the scenario's factors, as JSON."""
    source: str
    unit: str
    mean: float
    least: float
    most: float
    count: int


@dataclass(frozen=True)
class _Metric:
    """A metric of telemetry, and what was observed of it."""

    name: str
    use: tuple[_ResourceUse, ...]
    """Each source in each scenario."""

    @property
    def rows(self) -> int:
        """Number of observations."""
        return sum(use.count for use in self.use)

    @property
    def largest(self) -> float:
        """Largest of all values, without their signs."""
        return max(abs(value) for use in self.use for value in (use.least, use.most))

    @property
    def constant(self) -> bool:
        """Whether each source kept one value."""
        values: dict[str, set[float]] = {}
        for use in self.use:
            values.setdefault(use.source, set()).update((use.least, use.most))
        return all(len(found) == 1 for found in values.values())

    @property
    def shown(self) -> list[str]:
        """Sources that are drawn: those with the largest values. They are in the order of their
        names, so that colours agree between charts."""
        most: dict[str, float] = {}
        for use in self.use:
            most[use.source] = max(use.most, most.get(use.source, use.most))
        return sorted(sorted(most, key=lambda source: (-most[source], source))[:_MOST_SOURCES])

    @property
    def primary(self) -> bool:
        """Whether the metric is about CPU, memory or losses."""
        return _rank(self.name) < _OTHER_RANK

    def bins(self, all_rows: int) -> int:
        """Return into how many bins the file's rows are divided for each source. With a bin for
        each row, nothing is thinned."""
        points = _POINTS_PER_CHART if self.primary else _POINTS_PER_MINOR_CHART
        if self.rows <= points:
            return all_rows
        # Two observations of each bin are drawn.
        return max(_FEWEST_BINS, points // (2 * len(self.shown)))


_Row = tuple[int, float, str]
"""An observation: time [ns], value, id of the trial."""


def telemetry_charts(path: Path) -> list[TelemetryChart]:
    """Return a chart for each metric of telemetry.parquet, CPU and memory first; none if the file
    does not exist."""
    if not path.is_file():
        return []
    import duckdb

    with plain_path(path) as plain, duckdb.connect() as database:
        # The file is read twice for all metrics together: it may have millions of rows.
        database.read_parquet(str(plain), file_row_number=True).project(
            "*, file_row_number AS row"
        ).create_view("telemetry")
        start_ns, count = _extent(database)
        metrics = sorted(_metrics(database), key=lambda metric: (_rank(metric.name), metric.name))
        titles = _titles([metric.name for metric in metrics])
        drawn = _thinned(database, [metric for metric in metrics if not metric.constant], count)
        return [
            _chart(metric, titles[metric.name], f"telemetry-{index}", start_ns, drawn)
            for index, metric in enumerate(metrics)
        ]


def _extent(database: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Return the time of the first observation [ns], and the number of observations."""
    [found] = database.sql("SELECT coalesce(min(time_ns), 0), count(*) FROM telemetry").fetchall()
    return found[0], found[1]


def _titles(names: Sequence[str]) -> dict[str, str]:
    """Return metric -> title. The title contains the unit if another metric would otherwise have
    the same title (`rx_bps` and `rx_bytes`)."""
    short = Counter(units.metric_title(name) for name in names)
    return {
        name: title if short[title := units.metric_title(name)] == 1 else name.replace("_", " ")
        for name in names
    }


def _metrics(database: duckdb.DuckDBPyConnection) -> list[_Metric]:
    """Read all metrics but those that monitors report about themselves."""
    groups: dict[str, list[_ResourceUse]] = {}
    for metric, _, *use in database.execute(_USE, [list(OF_MONITORS)]).fetchall():
        groups.setdefault(metric, []).append(_ResourceUse(*use))
    return [_Metric(name, tuple(uses)) for name, uses in groups.items()]


def _thinned(
    database: duckdb.DuckDBPyConnection, metrics: Sequence[_Metric], all_rows: int
) -> dict[tuple[str, str], list[_Row]]:
    """Return (metric, source) -> the observations that are drawn, in the order of time."""
    drawn = [(m.name, source, m.bins(all_rows)) for m in metrics for source in m.shown]
    lines: dict[tuple[str, str], list[_Row]] = {(name, source): [] for name, source, _ in drawn}
    if not drawn:
        return lines
    database.execute("CREATE TABLE wanted (metric VARCHAR, source VARCHAR, bins BIGINT)")
    database.executemany("INSERT INTO wanted VALUES (?, ?, ?)", drawn)
    # By number of its row, an observation counts once, also if it is both smallest and largest.
    rows: dict[tuple[str, str], dict[int, _Row]] = {}
    for metric, source, *extremes in database.execute(_THINNED, [all_rows]).fetchall():
        for found in extremes:
            row = (found["t"], found["v"], found["id"])
            rows.setdefault((metric, source), {})[found["row"]] = row
    for key, found in rows.items():
        lines[key] = [
            row for _, row in sorted(found.items(), key=lambda item: (item[1][0], item[0]))
        ]
    return lines


def _chart(
    metric: _Metric,
    title: str,
    identity: str,
    start_ns: int,
    drawn: Mapping[tuple[str, str], list[_Row]],
) -> TelemetryChart:
    """Make the chart of a metric. `identity`: id of its element in the page; `start_ns`: Unix time
    of the first observation; `drawn`: what `_thinned` returned."""
    scale = units.scale_for([metric.largest], metric.use[0].unit, metric.name)
    shown = metric.shown
    lines = [drawn.get((metric.name, source), []) for source in shown]
    data = {
        "kind": "time",
        "xLabel": units.axis_label("Time since the first observation", "s"),
        "yLabel": units.axis_label(title, scale.unit),
        "series": [
            {
                "name": str(escape(source)),
                "style": palette.style(index).plotly(),
                **_line(rows, start_ns, scale.factor),
            }
            for index, (source, rows) in enumerate(zip(shown, lines, strict=True))
        ],
    }
    return TelemetryChart(
        identity,
        title,
        _note(metric, sum(map(len, lines)), len(shown), scale),
        data,
        scale.unit,
        metric.constant,
        metric.primary,
        _use_rows(metric, scale),
    )


def _line(rows: Sequence[_Row], start_ns: int, factor: float) -> dict[str, list[Any]]:
    """Return the line of a source, with a gap (null) where one trial ends and the next begins."""
    x: list[float | None] = []
    y: list[float | None] = []
    anchors: list[str | None] = []
    previous = None
    for time_ns, value, trial_id in rows:
        if previous not in (None, trial_id):
            x.append(None)
            y.append(None)
            anchors.append(None)
        previous = trial_id
        x.append(round((time_ns - start_ns) / 1e9, 3))
        y.append(float(f"{value * factor:.5g}"))
        anchors.append(trial_anchor(trial_id))
    return {"x": x, "y": y, "anchors": anchors}


def _note(metric: _Metric, drawn: int, shown: int, scale: units.Scale) -> str:
    """Say how much of a metric is drawn: `drawn` observations of `shown` sources."""
    if metric.constant:
        value = scale.quantity(max(use.most for use in metric.use))
        observations = count_text(metric.rows, "observation")
        return f"Constant in each source (at most {value}) in {observations}."
    note = "One observation." if metric.rows == 1 else f"All {metric.rows} observations."
    if drawn < metric.rows:
        note = (
            f"{drawn} of {metric.rows} observations: the smallest and the largest of each bin of "
            "successive ones, so that no peak is lost."
        )
    undrawn = len({use.source for use in metric.use}) - shown
    return note + (
        f" Not drawn: {count_text(undrawn, 'source')} with smaller values." if undrawn else ""
    )


def _use_rows(metric: _Metric, scale: units.Scale) -> tuple[tuple[str, str, str, str, int], ...]:
    """Return TelemetryChart.use of a metric."""
    return tuple(
        (
            scenario_name(json.loads(use.scenario)),
            use.source,
            scale.number(use.mean),
            scale.number(use.most),
            use.count,
        )
        for use in metric.use
    )


def _rank(metric: str) -> int:
    """Return the place of a metric on the page: CPU first, then memory, losses, and the rest."""
    for rank, word in enumerate(_FIRST):
        if word in metric:
            return rank
    return _OTHER_RANK
