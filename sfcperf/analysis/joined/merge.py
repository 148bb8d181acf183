"""Each metric of each trial beside each telemetry series of the same trial, aggregated.

An observation belongs to a trial by the trial's id and by its time: it counts from the moment at
which the monitors began to observe (or the trial began, if that is later) to the trial's end.
Seconds that the probe measured but left out of its samples (`omit_s`) are left out here too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sfcperf.analysis.joined.kinds import kind_of
from sfcperf.errors import InputError
from sfcperf.results import telemetry
from sfcperf.results.documents import damaged
from sfcperf.results.records import SCHEMA_VERSION, TrialRecord
from sfcperf.results.store import PLAN, RunStore
from sfcperf.results.trial_values import trial_means

if TYPE_CHECKING:
    import pyarrow

COLUMNS = {
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

# The (upper) median gap between observations stands for the time that one observation tells of: a
# series that starts late, ends early or has holes covers less than the whole. Not the lower one:
# the last observation of a short trial comes right after the one before.
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
select v.* exclude (place), s.* exclude (trial_id)
from trial_values v left join series s using (trial_id)
order by v.place, s.source, s.series, s.series_unit
"""


def schema() -> pyarrow.Schema:
    """Of joined.parquet."""
    import pyarrow

    fields = [(name, getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()]
    return pyarrow.schema(fields, metadata={"schema_version": str(SCHEMA_VERSION)})


@contextmanager
def joined(
    store: RunStore, series: Collection[str] | None = None
) -> Iterator[pyarrow.RecordBatchReader]:
    """Rows as `schema` says, in batches: memory does not grow with the run's telemetry.

    One row per trial, metric of it, and telemetry series (source, metric, unit) of the trial; a
    trial without telemetry has one row per metric, with the series' columns empty. In the order
    of trials.jsonl. Of all series, or of those with a name in `series`. Raises InputError when the
    run folder is damaged.
    """
    import duckdb
    import pyarrow

    trials = store.trials()
    # What does not fit into memory goes there meanwhile, not into the current folder.
    spill = TemporaryDirectory(prefix="sfcperf-merge-")
    connection = duckdb.connect(config={"temp_directory": spill.name})
    try:
        # One thread: sums are then added in one order, and the file is the same each time.
        connection.execute("set threads = 1")
        connection.register("trials", _trials(store, trials))
        connection.register("trial_values", _values(trials))
        _register_telemetry(connection, store)
        found = [row[0] for row in connection.execute(_NAMES).fetchall()]
        names = [name for name in found if series is None or name in series]
        kinds = pyarrow.table(
            {
                "metric": pyarrow.array(names, pyarrow.string()),
                "kind": pyarrow.array([kind_of(name) for name in names], pyarrow.string()),
            }
        )
        connection.register("kinds", kinds)
        batches = connection.sql(_QUERY).to_arrow_reader(_BATCH_ROWS)
        target = schema()
        yield pyarrow.RecordBatchReader.from_batches(
            target, (batch.cast(target) for batch in batches)
        )
    except duckdb.Error as error:
        raise damaged(str(error), str(store.telemetry_path)) from error
    finally:
        connection.close()
        spill.cleanup()


_NAMES = "select distinct metric from telemetry order by metric"


def _register_telemetry(connection: Any, store: RunStore) -> None:
    import pyarrow

    if not store.telemetry_path.is_file():
        connection.register("telemetry", pyarrow.table({n: [] for n in telemetry.COLUMNS}))
        return
    telemetry.check(store.telemetry_path)
    quoted = str(store.telemetry_path).replace("'", "''")
    connection.execute(f"create view telemetry as select * from read_parquet('{quoted}')")


def _trials(store: RunStore, trials: Sequence[TrialRecord]) -> pyarrow.Table:
    import pyarrow

    omitted = _omitted(store)
    return pyarrow.table(
        {
            "trial_id": pyarrow.array([r.trial_id for r in trials], pyarrow.string()),
            "started_ns": pyarrow.array([_ns(store, r, r.started_at) for r in trials], _int64()),
            "ended_ns": pyarrow.array([_ns(store, r, r.ended_at) for r in trials], _int64()),
            "omit_ns": pyarrow.array(
                [omitted.get((r.scenario_id, r.label), 0) for r in trials], _int64()
            ),
        }
    )


def _values(trials: Sequence[TrialRecord]) -> pyarrow.Table:
    import pyarrow

    rows: list[dict[str, Any]] = []
    for record in trials:
        units = {sample["metric"]: sample["unit"] for sample in record.samples}
        counts: dict[str, int] = {}
        for sample in record.samples:
            counts[sample["metric"]] = counts.get(sample["metric"], 0) + 1
        rows += [
            {
                "place": len(rows) + number,
                "trial_id": record.trial_id,
                "scenario_id": record.scenario_id,
                "scenario": json.dumps(record.scenario, sort_keys=True),
                "round": record.round,
                "probe": record.probe,
                "label": record.label,
                "status": record.status,
                "metric": metric,
                "unit": units[metric],
                "value": value,
                "samples": counts[metric],
            }
            for number, (metric, value) in enumerate(trial_means(record).items())
        ]
    kinds = {"place": "int64", **dict(list(COLUMNS.items())[:11])}
    fields = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in kinds.items()])
    return pyarrow.Table.from_pylist(rows, schema=fields)


def _omitted(store: RunStore) -> dict[tuple[str, str], int]:
    """(Scenario id, label) -> nanoseconds at the start that are in no sample of the probe."""
    if not (store.folder / PLAN).is_file():
        return {}
    resolved = store.plan().get("resolved", {})
    return {
        (scenario_id, probe["label"]): int(float(probe["parameters"].get("omit_s") or 0) * 1e9)
        for scenario_id, scenario in resolved.items()
        for probe in scenario.get("probes", ())
    }


def _ns(store: RunStore, record: TrialRecord, time: str) -> int:
    """Unix time in whole microseconds as nanoseconds: a float of seconds would lose some."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError as error:
        raise InputError(
            f"trial {record.trial_id} has a time that is none: {time!r}", where=str(store.folder)
        ) from error
    return int(moment.timestamp()) * 10**9 + moment.microsecond * 1000


def _int64() -> pyarrow.DataType:
    import pyarrow

    return pyarrow.int64()
