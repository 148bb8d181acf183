"""SQL over run folders, by DuckDB, which can read only these runs and write nothing.

The type of a statement does not show whether it only reads: DuckDB's `with` and `explain analyze`
may contain statements that write. The files are safe because DuckDB itself opens none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sfcperf.errors import InputError
from sfcperf.query.tables import read_run, tables
from sfcperf.results.flows import FLOWS
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import TELEMETRY
from sfcperf.results.tables.arrow_files import arrow_dataset
from sfcperf.results.tables.trial_rows import check

if TYPE_CHECKING:
    import duckdb
    import pyarrow

VIEWS: Mapping[str, str] = {
    "runs": "one row per run; `manifest` is run.json",
    "scenarios": "levels of the factors of each scenario",
    "trials": "one row per trial of every status",
    "samples": "one row per sample: a number that a probe reported",
    "failed_attempts": "one row per failed attempt at a trial, also where a later one was valid",
    "summaries": "one row per scenario, probe and metric, as in summary.json",
    "claims": "one row per claim of the workflow, with its verdict, as in claims.json",
    "telemetry": "what the monitors observed, as time series",
    "flows": "one row per flow and window in which a function listed it",
    "joined": "metrics of trials with telemetry (analysis `merge`)",
    "correlations": "of metrics with telemetry (analysis `correlate`)",
    "tags": "of trials and sources (analysis `enrich`)",
    "warmup": "warm-up trials, which are not analysed",
    "gate": "readings of the noise gate, and the trials that it marked",
}
"""Name of a view -> what it contains."""

BATCH_ROWS = 10_000
_SQL = {"string": "varchar", "int64": "bigint", "float64": "double"}
"""Arrow type -> SQL type."""
_QUERIES = ("SELECT", "EXPLAIN", "MULTI")
"""Types of statements that are queries; MULTI is DuckDB's type of PIVOT."""


@dataclass(frozen=True)
class View:
    """A view that can be queried."""

    name: str
    about: str
    """What it contains, as in VIEWS."""
    rows: int
    """Number of its rows."""
    columns: Mapping[str, str]
    """Name of a column -> its SQL type."""


class RunDatabase:
    """Answers queries over run folders, whose records are the views of `VIEWS`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def views(self) -> list[View]:
        """Describe the views, in the order of `VIEWS`."""
        return [
            View(
                name,
                about,
                self._connection.execute(f"select count(*) from {name}").fetchall()[0][0],
                {row[0]: row[1] for row in self._connection.execute(f"describe {name}").fetchall()},
            )
            for name, about in VIEWS.items()
        ]

    @contextmanager
    def ask(self, sql: str) -> Iterator[pyarrow.RecordBatchReader]:
        """Give the rows of one query, in batches that are read on demand.

        Raises InputError, also while the rows are read, for SQL that is wrong, is not a single
        query, or reads anything but the runs.
        """
        import duckdb

        try:
            statements = self._connection.extract_statements(sql)
            if len(statements) != 1:
                raise InputError(f"{len(statements)} statements", where="SQL", allowed="one query")
            if statements[0].type.name not in _QUERIES:
                raise InputError(
                    f"{statements[0].type.name} is not a query: runs are read-only",
                    where="SQL",
                    allowed="SELECT, FROM, WITH, PIVOT, DESCRIBE, SUMMARIZE, EXPLAIN",
                )
            yield self._connection.sql(sql).to_arrow_reader(BATCH_ROWS)
        except duckdb.PermissionException as error:
            raise InputError(f"SQL can only read the runs: {_text(error)}", where="SQL") from error
        except duckdb.Error as error:
            raise InputError(
                _text(error), where="SQL", hint="without SQL, the views and columns are listed"
            ) from error


@contextmanager
def opened(stores: Sequence[RunStore]) -> Iterator[RunDatabase]:
    """Open the runs as a database in memory. Telemetry, flows and joined rows stay in their files,
    and are read on demand. Raises InputError if a run is damaged or given twice."""
    import duckdb

    runs = [read_run(store) for store in stores]
    folders: dict[str, Path] = {}
    for store in stores:
        if store.run_id in folders:
            raise InputError(
                f"this is the same run as {folders[store.run_id]}", where=str(store.shown_folder)
            )
        folders[store.run_id] = store.shown_folder
    with TemporaryDirectory(prefix="sfcperf-query-") as spill:
        connection = duckdb.connect(
            config={
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                # DuckDB puts here what does not fit into memory, e.g. a sort of all telemetry.
                "temp_directory": spill,
            }
        )
        try:
            for name, table in tables(runs).items():
                connection.register("arriving", table)
                connection.execute(f"create table {name} as select * from arriving")
                connection.unregister("arriving")
            _parquet_views(connection, stores)
            _close_in(connection)
            yield RunDatabase(connection)
        finally:
            connection.close()


def _parquet_views(connection: Any, stores: Sequence[RunStore]) -> None:
    """Create the views `telemetry`, `flows` and `joined`, whose rows stay in Parquet files."""
    from sfcperf.analysis.telemetry import JOINED_COLUMNS

    # File -> (column -> its type, name of the column from which the column `time` is made).
    kinds = {
        RunFile.TELEMETRY: (TELEMETRY.types, "time_ns"),
        RunFile.FLOWS: (FLOWS.types, "window_end_ns"),
        RunFile.JOINED: (JOINED_COLUMNS, ""),
    }
    for file, (types, time) in kinds.items():
        files = [(store.run_id, store.folder / file) for store in stores]
        files = [(run_id, path) for run_id, path in files if path.is_file()]
        for _, path in files:
            check(path, tuple(types))
        # The view has the levels of the factors in columns of their own, not as JSON.
        columns = {column: _SQL[kind] for column, kind in types.items() if column != "scenario"}
        extra = f", make_timestamp({time} // 1000) as time" if time else ""  # from ns to us
        _create_view(connection, file.removesuffix(".parquet"), columns, files, extra)


def _create_view(
    connection: Any,
    name: str,
    columns: Mapping[str, str],
    files: Sequence[tuple[str, Path]],
    extra: str = "",
) -> None:
    """Create a view of files, with `run_id` and the levels of the factors; without files it is
    empty. `columns`: name -> SQL type; `files`: (run id, path); `extra`: SQL of a further column,
    which begins with a comma.

    pyarrow reads the files. DuckDB would need permission to open them by name, and with that a
    query could also overwrite them, by `explain analyze copy ...` or `with a as (copy ...) ...`.
    """
    listed = ", ".join(columns)
    typed = ", ".join(f"null::{kind} as {column}" for column, kind in columns.items())
    parts = [f"select null::varchar as run_id, {typed} where false"]
    for number, (run_id, path) in enumerate(files):
        connection.register(f"file_{name}_{number}", arrow_dataset(path))
        parts.append(f"select {_quoted(run_id)} as run_id, {listed} from file_{name}_{number}")
    connection.execute(
        f"create temp view {name} as select rows.*{extra}, levels.* exclude (run_id, scenario_id) "
        f"from ({' union all '.join(parts)}) rows "
        "left join scenarios levels using (run_id, scenario_id)"
    )


def _close_in(connection: Any) -> None:
    """Forbid DuckDB, from now on, to open files, to use the network and to see variables of this
    program. The lock makes that irreversible for the connection."""
    connection.execute("set python_enable_replacements = false")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def _quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _text(error: Exception) -> str:
    """Return DuckDB's message."""
    return str(error).strip()
