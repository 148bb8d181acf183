"""Exports, read back by DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest
from support.records.runs import RunOptions, build_run
from support.records.trials import run_folder, trial

from sfcperf.errors import InputError
from sfcperf.results.export import Format, export, target_of
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.values import Observation

FORMATS: tuple[Format, ...] = ("csv", "parquet")


def exported(store: RunStore, format: Format, columns: str) -> list[tuple[Any, ...]]:
    target, *_ = export(store, format, store.folder.parent / f"out.{format}")
    return duckdb.sql(f"SELECT {columns} FROM '{target}'").fetchall()


@pytest.mark.parametrize("format", FORMATS)
def test_one_row_per_sample_and_one_for_a_trial_without(tmp_path: Path, format: Format) -> None:
    trials = [
        trial(1, values=[1.25, 2.5]),
        trial(2, values=[], status="failed", reasons=('no "reply",\nat all',)),
    ]
    store = run_folder(tmp_path / "run", trials)
    assert exported(store, format, "run_id, trial_id, round, status, sample, metric, value") == [
        ("run", "r001-s000-ping", 1, "valid", 0, "rtt_us", 1.25),
        ("run", "r001-s000-ping", 1, "valid", 1, "rtt_us", 2.5),
        ("run", "r002-s000-ping", 2, "failed", None, None, None),
    ]
    [_, _, (reasons,)] = exported(store, format, "reasons")
    assert reasons == '["no \\"reply\\",\\nat all"]'


def test_what_is_structured_is_not_in_csv(tmp_path: Path) -> None:
    """It would make rows of thousands of characters."""
    store = run_folder(tmp_path / "run", [trial(1)])
    assert exported(store, "parquet", "packets") == [('{"fwd-1": 40}',)]
    [target] = export(store, "csv", tmp_path / "out.csv")
    header = target.read_text().splitlines()[0]
    assert not {"packets", "notes", "deployment", "series", "noise"} & set(header.split(","))


@pytest.mark.parametrize("format", FORMATS)
def test_factors_never_hide_our_columns(tmp_path: Path, format: Format) -> None:
    record = trial(1, scenario={"round": 7, "value": "high", "factor_round": 8})
    store = run_folder(tmp_path / "run", [record])
    columns = 'round, factor_round, factor_factor_round, "value", factor_value'
    assert exported(store, format, columns) == [(1, 7, 8, 100.0, "high")]


def test_levels_keep_their_type(tmp_path: Path) -> None:
    levels = [
        {"length": 0, "rate": 1, "on": True, "mixed": 1, "list": [1], "huge": 2**70},
        {"length": 1, "rate": 0.5, "on": False, "mixed": "T1", "list": [2], "huge": 1},
        {"length": 2, "rate": 2, "on": None, "mixed": True, "list": None},
    ]
    trials = [trial(1, f"s{n:03d}", scenario=scenario) for n, scenario in enumerate(levels)]
    [target] = export(run_folder(tmp_path / "run", trials), "parquet", tmp_path / "out.parquet")
    types = dict(
        duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE FROM '{target}')").fetchall()
    )
    found = {name: types[f"factor_{name}"] for name in levels[0]}
    assert found == {
        "length": "BIGINT",
        "rate": "DOUBLE",
        "on": "BOOLEAN",
        "mixed": "VARCHAR",
        "list": "VARCHAR",
        "huge": "VARCHAR",
    }
    mixed = duckdb.sql(f"SELECT factor_mixed FROM '{target}'").fetchall()
    assert mixed == [("1",), ("T1",), ("true",)]


@pytest.mark.parametrize("format", FORMATS)
def test_telemetry_goes_beside_with_the_factors(tmp_path: Path, format: Format) -> None:
    trials = [trial(1, scenario_id) for scenario_id in ("s001", "s000")]
    store = run_folder(tmp_path / "run", trials)
    for time_ns, record in enumerate(trials):
        observation = Observation(time_ns, "fwd-1", "cpu_ratio", "1", 0.5)
        store.write_trial_telemetry(record, [observation])
    store.merge_telemetry()
    target, beside = export(store, format, tmp_path / f"out.{format}")
    assert beside == target_of("telemetry", target)
    assert beside.name == f"out-telemetry.{format}"
    columns = "run_id, scenario_id, factor_chain_length, time_ns, value"
    assert duckdb.sql(f"SELECT {columns} FROM '{beside}'").fetchall() == [
        ("run", "s001", 1, 0, 0.5),
        ("run", "s000", 0, 1, 0.5),
    ]


def test_flows_go_beside_with_the_factors(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", RunOptions(flows=True))
    target, _, beside = export(store, "csv", tmp_path / "out.csv")
    assert beside == target_of("flows", target)
    columns = "factor_chain_length, factor_topology, source_address, sum(packets)"
    found = duckdb.sql(f"SELECT {columns} FROM '{beside}' GROUP BY ALL").fetchall()
    kept = duckdb.sql(f"SELECT sum(packets) FROM '{store.flows_path}'").fetchall()
    assert {row[:2] for row in found} == {(n, t) for n in (1, 2) for t in ("T1", "T3")}
    assert sum(row[3] for row in found) == kept[0][0]


@pytest.mark.parametrize("format", FORMATS)
def test_a_run_without_trials_has_a_header(tmp_path: Path, format: Format) -> None:
    store = run_folder(tmp_path / "run")
    assert exported(store, format, "trial_id, value") == []


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "run", [trial(1)])
    for target in (tmp_path, tmp_path / "missing" / "out.csv"):
        with pytest.raises(InputError, match="cannot be written") as caught:
            export(store, "csv", target)
        assert caught.value.where == str(target)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_tags_are_columns(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run")
    trials = [record.trial_id for record in store.trials()]
    found = [("trial", trials[0], "year", 2024), ("source", "sff@node1", "role", "forwarder")]
    tags = [
        {"subject": subject, "id": id, "tag": tag, "value": value, "file": "t.csv"}
        for subject, id, tag, value in found
    ]
    store.write_document(RunFile.TAGS, {"run_id": store.run_id, "files": [], "tags": tags})
    samples, telemetry = (
        pyarrow.parquet.read_table(file).to_pylist()
        for file in export(store, "parquet", tmp_path / "t.parquet")
    )
    years = {(row["trial_id"], row["tag_year"]) for row in samples if row["tag_year"]}
    assert years == {(trials[0], 2024)}
    roles = {(row["source"], row["tag_role"]) for row in telemetry}
    assert {("sff@node1", "forwarder"), ("fwd-1", None)} <= roles
