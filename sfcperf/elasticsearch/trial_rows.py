"""Telemetry and flows as JSON, a batch of the Parquet file at a time: most documents of a run are
these.

What all rows of a trial have in common is written once; a row adds its own few values. That is
several times as fast as making an object of every row.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.results.documents import damaged
from sfcperf.results.flows import flow_name
from sfcperf.results.records import TrialRecord
from sfcperf.results.tables.arrow_files import arrow_input
from sfcperf.results.tables.trial_rows import reading

if TYPE_CHECKING:
    import pyarrow

BATCH = 10_000
"""Number of rows that are in memory at a time."""


@dataclass(frozen=True)
class RowDocuments:
    """How the rows of a kind of file become documents."""

    time: str
    """Column with the time of the document, Unix nanoseconds."""
    others: tuple[str, ...]
    """Further columns, which `members` gets in this order."""
    members: Callable[..., str]
    """Function that returns the JSON members of a row, without those that all rows of the trial
    have. It gets the row's time, the start of the trial (both Unix nanoseconds) and the other
    columns."""


def count(path: Path) -> int:
    """Return the number of rows in a file; 0 when it does not exist. Raises InputError when it is
    damaged."""
    if not path.is_file():
        return 0
    import pyarrow.parquet

    with reading(path), arrow_input(path) as file:
        return int(pyarrow.parquet.ParquetFile(file).metadata.num_rows)


def rows(
    kind: RowDocuments,
    path: Path,
    trials: Mapping[str, TrialRecord],
    common: Callable[[TrialRecord], Mapping[str, Any]],
) -> Iterator[tuple[str, int, str]]:
    """Yield (trial, number of the row within the trial, JSON) of each row; nothing when there is no
    file. `common` returns the fields that all rows of a trial share.

    The number stays when other trials are added: a resumed run keeps the ids of what was sent.
    Raises InputError when the file is damaged, or has a trial that the run does not.
    """
    if not path.is_file():
        return
    numbers: dict[str, int] = defaultdict(int)
    # Trial -> the end of the JSON of its rows, and when the trial began.
    ends: dict[str, tuple[str, int]] = {}
    names = ("trial_id", kind.time, *kind.others)
    for batch in _batches(path, names):
        columns = [batch.column(name).to_pylist() for name in names]
        times = _times(batch.column(kind.time))
        for (trial_id, at_ns, *others), at in zip(zip(*columns, strict=True), times, strict=True):
            if trial_id not in ends:
                ends[trial_id] = _shared(path, trials.get(trial_id), common)
            end, begin_ns = ends[trial_id]
            number = numbers[trial_id]
            numbers[trial_id] = number + 1
            members = kind.members(at_ns, begin_ns, *others)
            yield trial_id, number, f'{{"@timestamp":"{at}Z",{members},{end}'


def _shared(
    path: Path,
    record: TrialRecord | None,
    common: Callable[[TrialRecord], Mapping[str, Any]],
) -> tuple[str, int]:
    """Return two things that all rows of a trial share: the end of their JSON, with the fields that
    they have in common, and when the trial began, Unix nanoseconds. Raises InputError if the run
    has no such trial (None)."""
    if record is None:
        raise damaged("it has a row of a trial that is not in trials.jsonl", str(path))
    begin = datetime.fromisoformat(record.started_at)
    text = json.dumps(common(record), separators=(",", ":"), allow_nan=False)
    # Without the "{": members of the row itself come first. The time is known to a microsecond; a
    # float of nanoseconds would be rounded.
    return text[1:], round(begin.timestamp() * 1e6) * 1000


def _batches(path: Path, columns: tuple[str, ...]) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a Parquet file in batches, with these columns."""
    import pyarrow.parquet

    with reading(path), arrow_input(path) as file:
        yield from pyarrow.parquet.ParquetFile(file).iter_batches(
            batch_size=BATCH, columns=list(columns)
        )


def _times(column: Any) -> list[str]:
    """Convert Unix nanoseconds into ISO 8601 with nine decimals."""
    import numpy

    stamps = column.to_numpy(zero_copy_only=False).astype("datetime64[ns]")
    texts: list[str] = numpy.datetime_as_string(stamps).tolist()
    return texts


_quoted = cache(json.dumps)
"""Returns a text as JSON. It is cached: sources, metrics and units are few and come often."""


def _number(value: float) -> str:
    """Return a number as JSON. None, NaN and infinities, which JSON cannot express, become null, as
    do numbers beyond 1e308."""
    return repr(value) if value is not None and abs(value) <= 1e308 else "null"


def _observation(
    at_ns: int, begin_ns: int, source: str, metric: str, unit: str, value: float
) -> str:
    """Return the JSON members of a row of telemetry, see `RowDocuments.members`."""
    return (
        f'"telemetry":{{"source":{_quoted(source)},"elapsed_s":{(at_ns - begin_ns) / 1e9!r}}},'
        f'"metric":{{"name":{_quoted(metric)},"unit":{_quoted(unit)},"value":{_number(value)}}}'
    )


def _flow(end_ns: int, begin_ns: int, *values: Any) -> str:
    """Return the JSON members of a row of flows, see `RowDocuments.members`. `end_ns`: end of the
    window; `values`: the columns `FLOWS.others`."""
    row = dict(zip(FLOWS.others, values, strict=True))
    source, source_port = row["source_address"], row["source_port"]
    destination, destination_port = row["destination_address"], row["destination_port"]
    protocol = row["protocol_name"]
    members = {
        "flow": {
            "name": flow_name(source, source_port, destination, destination_port, protocol),
            "elapsed_s": (end_ns - begin_ns) / 1e9,
            "window_s": (end_ns - row["window_start_ns"]) / 1e9,
            **{
                name: row[name]
                for name in ("function", "spi", "si", "packets", "bytes", "certainty")
            },
        },
        "source": {"ip": source, "port": source_port},
        "destination": {"ip": destination, "port": destination_port},
        "network": {"transport": protocol, "iana_number": row["protocol"]},
    }
    return json.dumps(members, separators=(",", ":"))[1:-1]


TELEMETRY = RowDocuments("time_ns", ("source", "metric", "unit", "value"), _observation)
FLOWS = RowDocuments(
    "window_end_ns",
    (
        "window_start_ns",
        "function",
        "spi",
        "si",
        "source_address",
        "destination_address",
        "protocol",
        "protocol_name",
        "source_port",
        "destination_port",
        "packets",
        "bytes",
        "certainty",
    ),
    _flow,
)
