"""The analysis `merge`: joined.parquet (paper: analysis module).

Each metric of each trial is joined with each telemetry series of the same trial, aggregated. An
observation belongs to a trial by the trial's id and by its time: from the monitors' first
observation (or the start of the trial, if that is later) to the end of the trial. Seconds that the
probe leaves out of its samples (`omit_s`) are left out here too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sfcperf.analysis.base import NO_PARAMETERS, Analysis
from sfcperf.environment.plain_path import plain_path
from sfcperf.errors import InputError
from sfcperf.results.documents import damaged
from sfcperf.results.files import replacing
from sfcperf.results.records import SCHEMA_VERSION, TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.tables import OF_MONITORS, TELEMETRY
from sfcperf.results.tables.arrow_files import arrow_output
from sfcperf.results.tables.trial_rows import check
from sfcperf.results.trial_values import trial_means

if TYPE_CHECKING:
    import pyarrow

SeriesKind = Literal["gauge", "delta", "total"]
"""`gauge`: a level or a rate at a moment; its mean, maximum and percentile are meaningful.
`delta`: increase of a counter since the previous observation; its sum is meaningful.
`total`: reported once, at the end, for the whole trial; its value is meaningful."""

_TOTALS = frozenset({*OF_MONITORS, "monitor_errors"})
"""Series of the kind `total`; so are those whose name ends in `_total`."""
_REPORTED_ONCE = re.compile(r"pptmon_\w+|(reverse_)?captured_processing_time_(?!us$)\w+")
"""Names of further series of the kind `total`."""
_COUNTERS = re.compile(r"(rx|tx)_(packets|bytes|errors|drops)")
"""Names of series of the kind `delta`."""

JOINED_COLUMNS = {
    "trial_id": "string",
    "scenario_id": "string",
    "scenario": "string",
    "round": "int64",
    "probe": "string",
    "label": "string",
    "status": "string",
    "metric": "string",
    "unit": "string",
    "value": "float64",
    "samples": "int64",
    "source": "string",
    "series": "string",
    "series_unit": "string",
    "kind": "string",
    "observations": "int64",
    "mean": "float64",
    "min": "float64",
    "max": "float64",
    "p95": "float64",
    "sum": "float64",
    "coverage": "float64",
    "starts_s": "float64",
}
"""Columns of joined.parquet and their types (schemas/joined.schema.json says what they mean)."""

_BATCH_ROWS = 100_000

# Each step of the query is a table: `observed` has the observations of the chosen series; `watched`
# has the span of each trial from which observations count; `counted` has these observations, with
# the gap since the one before; `aggregated` and `series` have a row per trial and series. The last
# step joins these rows with the numbers of the trials.
#
# `coverage`: each observation is taken to cover the median gap between observations, so a series
# that starts late, ends early or has gaps covers less than the whole trial. The upper median is
# taken (hence the two minus signs), because the last observation of a short trial comes right after
# the one before it.
_QUERY = """
with observed as (
  select o.trial_id, o.source, o.metric, o.unit, o.time_ns,
         case when isfinite(o.value) then o.value end as value
  from telemetry o semi join trials using (trial_id) semi join kinds using (metric)
),
watched as (
  select trial_id, greatest(min(time_ns), any_value(started_ns)) + any_value(omit_ns) as from_ns,
         least(max(time_ns), any_value(ended_ns)) as to_ns
  from telemetry join trials using (trial_id) group by trial_id
),
counted as (
  select o.*, from_ns, to_ns,
         time_ns - lag(time_ns) over (
           partition by o.trial_id, source, metric, unit order by time_ns) as gap_ns
  from observed o join watched using (trial_id)
  where value is not null and time_ns between from_ns and to_ns
),
aggregated as (
  select trial_id, source, metric, unit, count(*) as observations,
         avg(value) as mean, min(value) as min, max(value) as max,
         quantile_cont(value, 0.95) as p95, sum(value) as sum,
         case when count(*) > 1 and any_value(to_ns) > any_value(from_ns)
              then least(1.0, count(*) * -quantile_disc(-gap_ns, 0.5)
                              / (any_value(to_ns) - any_value(from_ns)))
         end as coverage,
         (min(time_ns) - any_value(from_ns)) / 1e9 as starts_s
  from counted group by trial_id, source, metric, unit
),
series as (
  select trial_id, source, metric as series, unit as series_unit, k.kind,
         coalesce(a.observations, 0) as observations, a.mean, a.min, a.max, a.p95,
         case k.kind when 'delta' then a.sum when 'total' then a.max end as sum,
         case when k.kind = 'total' then null when a.observations is null then 0.0
              else a.coverage end as coverage,
         a.starts_s
  from (select distinct trial_id, source, metric, unit from observed) s
  join kinds k using (metric)
  left join aggregated a using (trial_id, source, metric, unit)
)
select v.* exclude (ordinal), s.* exclude (trial_id)
from trial_values v left join series s using (trial_id)
order by v.ordinal, s.source, s.series, s.series_unit
"""


class MergeAnalysis(Analysis):
    """Writes joined.parquet, with a row per trial, metric of its probe, and telemetry series: mean,
    min, max, 95th percentile, sum and coverage of the series during the trial."""

    name: ClassVar[str] = "merge"
    title: ClassVar[str] = "Metrics of probes next to the telemetry of the same trial"
    parameters: ClassVar[Mapping[str, Any]] = NO_PARAMETERS

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Write joined.parquet; return its name and the number of its rows."""
        import pyarrow.parquet

        rows = 0
        with (
            joined(run) as batches,
            replacing(run.joined_path) as beside,
            arrow_output(beside) as file,
            pyarrow.parquet.ParquetWriter(file, batches.schema) as writer,
        ):
            for batch in batches:
                rows += batch.num_rows
                writer.write_batch(batch)
        return {"run_id": run.run_id, "file": run.joined_path.name, "rows": rows}


def kind_of(metric: str) -> SeriesKind:
    """Return the kind of a series, which the monitors (sfcperf.passive) express in its name."""
    if metric in _TOTALS or metric.endswith("_total") or _REPORTED_ONCE.fullmatch(metric):
        return "total"
    return "delta" if _COUNTERS.fullmatch(metric) else "gauge"


@contextmanager
def joined(
    store: RunStore, series: Collection[str] | None = None
) -> Iterator[pyarrow.RecordBatchReader]:
    """Join trials and telemetry: give rows with JOINED_COLUMNS, in batches, so that memory does not
    grow with the run's telemetry. The batches must be read within the context.

    One row per trial, metric and telemetry series (source, metric, unit), in the order of
    trials.jsonl; a trial without telemetry has one row per metric, with the series' columns empty.
    `series`: names of the series; None: all. Raises InputError if the run folder is damaged.
    """
    import duckdb
    import pyarrow

    trials = store.trials()
    opened = ExitStack()
    # DuckDB puts here what does not fit into memory; its default is the current folder.
    spill = opened.enter_context(TemporaryDirectory(prefix="sfcperf-merge-"))
    connection = duckdb.connect(config={"temp_directory": spill})
    try:
        # With one thread sums are added in one order, so the file is always the same.
        connection.execute("set threads = 1")
        connection.register("trials", _trials(store, trials))
        connection.register("trial_values", _values(trials))
        _register_telemetry(connection, store, opened)
        names = [row[0] for row in connection.execute(_NAMES).fetchall()]
        kinds = [
            {"metric": name, "kind": kind_of(name)}
            for name in names
            if series is None or name in series
        ]
        connection.register("kinds", _table(kinds, {"metric": "string", "kind": "string"}))
        batches = connection.sql(_QUERY).to_arrow_reader(_BATCH_ROWS)
        target = _schema(JOINED_COLUMNS, {"schema_version": str(SCHEMA_VERSION)})
        yield pyarrow.RecordBatchReader.from_batches(
            target, (batch.cast(target) for batch in batches)
        )
    except duckdb.Error as error:
        raise damaged(str(error), str(store.telemetry_path)) from error
    finally:
        connection.close()
        opened.close()


_NAMES = "select distinct metric from telemetry order by metric"


def _register_telemetry(connection: Any, store: RunStore, opened: ExitStack) -> None:
    """Give the query the run's telemetry as the table `telemetry`, which is empty if the run has
    none. `opened` closes what that takes, when the query is over."""
    import pyarrow

    if not store.telemetry_path.is_file():
        connection.register("telemetry", pyarrow.table({n: [] for n in TELEMETRY.columns}))
        return
    check(store.telemetry_path, TELEMETRY.columns)
    plain = opened.enter_context(plain_path(store.telemetry_path))
    connection.execute(f"create view telemetry as select * from read_parquet('{plain}')")


def _schema(columns: Mapping[str, str], metadata: dict[str, str] | None = None) -> pyarrow.Schema:
    """Make a schema of Arrow. `columns`: name -> type, by the name of pyarrow's function that makes
    it."""
    import pyarrow

    fields = [(name, getattr(pyarrow, kind)()) for name, kind in columns.items()]
    return pyarrow.schema(fields, metadata=metadata)


def _table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> pyarrow.Table:
    """Make a table of rows with the names of these columns; other keys of a row are left out."""
    import pyarrow

    return pyarrow.Table.from_pylist(rows, schema=_schema(columns))


def _trials(store: RunStore, trials: Sequence[TrialRecord]) -> pyarrow.Table:
    """Return a row per trial: its start and end (ns since the epoch), and the time at the start
    that its probe leaves out."""
    omitted = _omitted(store)
    rows = [
        {
            "trial_id": record.trial_id,
            "started_ns": _ns(store, record, record.started_at),
            "ended_ns": _ns(store, record, record.ended_at),
            "omit_ns": omitted.get((record.scenario_id, record.label), 0),
        }
        for record in trials
    ]
    times = dict.fromkeys(("started_ns", "ended_ns", "omit_ns"), "int64")
    return _table(rows, {"trial_id": "string", **times})


def _values(trials: Sequence[TrialRecord]) -> pyarrow.Table:
    """Return a row per trial and metric: the first 11 of JOINED_COLUMNS, which describe the trial,
    and `ordinal`, which keeps the order of trials.jsonl."""
    rows: list[dict[str, Any]] = []
    for record in trials:
        units = {sample["metric"]: sample["unit"] for sample in record.samples}
        counts = Counter(sample["metric"] for sample in record.samples)
        rows += [
            {
                "ordinal": len(rows) + number,
                **vars(record),
                "scenario": json.dumps(record.scenario, sort_keys=True),
                "metric": metric,
                "unit": units[metric],
                "value": value,
                "samples": counts[metric],
            }
            for number, (metric, value) in enumerate(trial_means(record).items())
        ]
    return _table(rows, {"ordinal": "int64", **dict(list(JOINED_COLUMNS.items())[:11])})


def _omitted(store: RunStore) -> dict[tuple[str, str], int]:
    """Map (scenario id, probe label) to the nanoseconds at the start of a trial that the probe
    leaves out of its samples (`omit_s`)."""
    return {
        (scenario_id, probe["label"]): int(float(probe["parameters"].get("omit_s") or 0) * 1e9)
        for scenario_id, scenario in store.resolved().items()
        for probe in scenario["probes"]
    }


def _ns(store: RunStore, record: TrialRecord, time: str) -> int:
    """Convert the time of a record to nanoseconds since the epoch. Whole seconds and microseconds
    are converted apart, because a float of seconds is not exact to the microsecond."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError as error:
        raise InputError(
            f"trial {record.trial_id} has an invalid time: {time!r}", where=str(store.folder)
        ) from error
    return int(moment.timestamp()) * 10**9 + moment.microsecond * 1000
