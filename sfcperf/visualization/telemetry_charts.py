"""Telemetry for the report: time series thinned without losing a peak, and use per scenario.

Thinning keeps the smallest and the largest value of each bin of successive observations (min-max
decimation; Jugel et al., M4, VLDB 2014, keep the first and last as well, for pixel-exact lines).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from sfcperf.results.telemetry import MONITOR_COST
from sfcperf.visualization import palette, units
from sfcperf.visualization.charts import trial_anchor
from sfcperf.visualization.series import scenario_text

if TYPE_CHECKING:
    import duckdb

_POINTS_PER_CHART = 4000
_POINTS_PER_MINOR_CHART = 1200
_FEWEST_BINS = 20
_MOST_SOURCES = 24

_FIRST = ("cpu", "memory", "drop", "error")
_OTHER_RANK = len(_FIRST)

_THINNED = """
    WITH binned AS (
        SELECT *, ntile(?) OVER (PARTITION BY source ORDER BY time_ns) AS bin FROM telemetry
        WHERE metric = ? AND source IN (SELECT unnest(?)) AND isfinite(value)
    ), extremes AS (
        SELECT source, arg_min(time_ns, value) AS time_ns, min(value) AS value,
               arg_min(trial_id, value) AS trial_id FROM binned GROUP BY source, bin
        UNION
        SELECT source, arg_max(time_ns, value), max(value),
               arg_max(trial_id, value) FROM binned GROUP BY source, bin
    )
    SELECT source, time_ns, value, trial_id FROM extremes ORDER BY source, time_ns
"""
_USE = """
    SELECT scenario, source, avg(value), max(value), count(*) FROM telemetry
    WHERE metric = ? GROUP BY scenario_id, scenario, source ORDER BY scenario_id, source
"""


@dataclass(frozen=True)
class TelemetryChart:
    """One metric over the time of the run, a line per source, and its means per scenario."""

    id: str
    title: str
    unit: str
    note: str
    constant: bool
    """Whether every source kept one value: said in words, not drawn."""
    primary: bool
    """CPU, memory and losses are shown at once."""
    use: tuple[tuple[str, str, str, str, int], ...]
    """Scenario, source, mean, largest, number of observations."""
    data: dict[str, Any]


@dataclass(frozen=True)
class _Metric:
    name: str
    unit: str
    rows: int
    largest: float
    sources: tuple[str, ...]
    """Largest values first."""
    constant: bool


def telemetry_charts(path: Path) -> list[TelemetryChart]:
    """A chart per metric of telemetry.parquet, CPU and memory first; none without the file."""
    if not path.is_file():
        return []
    import duckdb

    with duckdb.connect() as database:
        relation = database.read_parquet(str(path))
        relation.create_view("telemetry")
        [(start_ns,)] = database.sql("SELECT coalesce(min(time_ns), 0) FROM telemetry").fetchall()
        metrics = sorted(_metrics(database), key=lambda metric: (_rank(metric.name), metric.name))
        titles = _titles([metric.name for metric in metrics])
        return [
            _chart(database, metric, titles[metric.name], f"telemetry-{index}", start_ns)
            for index, metric in enumerate(metrics)
        ]


def _titles(names: Sequence[str]) -> dict[str, str]:
    """Metric -> title; with its unit where the words alone are those of another one too (`rx_bps`
    and `rx_bytes`)."""
    short = Counter(units.metric_title(name) for name in names)
    return {
        name: title if short[title := units.metric_title(name)] == 1 else name.replace("_", " ")
        for name in names
    }


def _metrics(database: duckdb.DuckDBPyConnection) -> Iterable[_Metric]:
    rows = database.execute(
        """
        WITH sources AS (
            SELECT metric, source, min(unit) AS unit, count(*) AS count, min(value) AS least,
                   max(value) AS most
            FROM telemetry WHERE metric <> ? AND isfinite(value) GROUP BY metric, source
        )
        SELECT metric, min(unit), sum(count), max(abs(most)),
               list(source ORDER BY most DESC, source), bool_and(least = most)
        FROM sources GROUP BY metric
        """,
        [MONITOR_COST],
    )
    for name, unit, count, largest, sources, constant in rows.fetchall():
        yield _Metric(name, unit, int(count), float(largest), tuple(sources), bool(constant))


def _chart(
    database: duckdb.DuckDBPyConnection, metric: _Metric, title: str, identity: str, start_ns: int
) -> TelemetryChart:
    scale = units.scale_for([metric.largest], metric.unit, metric.name)
    # Largest values decide who is drawn; names give the order, so that colours agree.
    shown = sorted(metric.sources[:_MOST_SOURCES])
    primary = _rank(metric.name) < _OTHER_RANK
    points = _POINTS_PER_CHART if primary else _POINTS_PER_MINOR_CHART
    bins = max(_FEWEST_BINS, points // (2 * len(shown)))
    rows = [] if metric.constant else _thinned(database, metric.name, shown, bins)
    data = {
        "kind": "time",
        "xLabel": "Time since the first observation [s]",
        "yLabel": f"{title} [{scale.unit or '1'}]",
        "series": [
            {
                "name": str(escape(source)),
                "style": {"colour": look.colour, "dark": look.dark, "dash": look.dash},
                **_line([row for row in rows if row[0] == source], start_ns, scale.factor),
            }
            for look, source in ((palette.style(i), s) for i, s in enumerate(shown))
        ],
    }
    note = _note(metric, len(rows), len(shown), scale)
    return TelemetryChart(
        identity,
        title,
        scale.unit,
        note,
        metric.constant,
        primary,
        _use(database, metric.name, scale),
        data,
    )


def _thinned(
    database: duckdb.DuckDBPyConnection, metric: str, sources: Sequence[str], bins: int
) -> list[tuple[str, int, float, str]]:
    return database.execute(_THINNED, [bins, metric, list(sources)]).fetchall()


def _line(
    rows: Sequence[tuple[str, int, float, str]], start_ns: int, factor: float
) -> dict[str, list[Any]]:
    """Points of a source; a gap (null) where one trial ends and the next begins."""
    x: list[float | None] = []
    y: list[float | None] = []
    anchors: list[str | None] = []
    previous = None
    for _, time_ns, value, trial_id in rows:
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
    if metric.constant:
        value = units.with_unit(units.number(metric.largest * scale.factor), scale.unit)
        return f"Constant in each source (at most {value}) in all {metric.rows} observations."
    note = f"All {metric.rows} observations."
    if drawn < metric.rows:
        note = (
            f"{drawn} of {metric.rows} observations: the smallest and the largest of each bin of "
            "successive ones, so that no peak is lost."
        )
    left = len(metric.sources) - shown
    return note + (f" {left} sources with smaller values are not drawn." if left else "")


def _use(
    database: duckdb.DuckDBPyConnection, metric: str, scale: units.Scale
) -> tuple[tuple[str, str, str, str, int], ...]:
    rows = database.execute(_USE, [metric]).fetchall()
    return tuple(
        (
            scenario_text(json.loads(scenario)) or "the scenario",
            source,
            units.number(mean * scale.factor),
            units.number(largest * scale.factor),
            count,
        )
        for scenario, source, mean, largest, count in rows
    )


def _rank(metric: str) -> int:
    """CPU, memory, losses, the rest."""
    for rank, word in enumerate(_FIRST):
        if word in metric:
            return rank
    return _OTHER_RANK
