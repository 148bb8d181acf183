"""`sfcperf query`: SQL of one run or many, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
import pytest
from support.command import SFCPERF, Command
from support.heavy import imports
from support.records.readings import reading
from support.records.runs import RunOptions, build_run
from support.records.trials import run_folder, trial

from sfcperf.analysis.telemetry import MergeAnalysis
from sfcperf.query.engine import VIEWS
from sfcperf.results.tables.arrow_files import arrow_dataset

Ask = Callable[..., "Answer"]


@dataclass
class Answer:
    status: int
    out: str
    err: str


@pytest.fixture
def ask(sfcperf: Command) -> Ask:
    def asked(*words: object) -> Answer:
        status = sfcperf("query", *words)
        return Answer(status, sfcperf.out, sfcperf.err)

    return asked


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = build_run(tmp_path_factory.mktemp("it's") / "one")
    MergeAnalysis({}).analyse(store)
    return store.folder


def rows(answer: Answer) -> list[list[str]]:
    assert answer.status == 0, answer.err
    return list(csv.reader(io.StringIO(answer.out)))[1:]


def test_the_numbers_are_those_of_the_record(ask: Ask, run: Path) -> None:
    listed = ask(run)
    assert listed.status == 0
    assert all(f"\n{view}: " in "\n" + listed.out for view in VIEWS)
    assert "factor_chain_length" in listed.out
    sql = (
        "select trial_id, factor_topology, factor_chain_length, sum(value), count(*) from samples "
        "where metric = 'rtt_us' group by all order by trial_id"
    )
    found = rows(ask(run, sql, "--format", "csv"))
    wanted = {}
    for record in map(json.loads, (run / "trials.jsonl").read_text().splitlines()):
        values = [s["value"] for s in record["samples"] if s["metric"] == "rtt_us"]
        levels, total = record["scenario"], pytest.approx(sum(values))
        known = (levels["topology"], str(levels["chain_length"]), total, str(len(values)))
        wanted |= {record["trial_id"]: known} if values else {}
    assert {row[0]: (row[1], row[2], float(row[3]), row[4]) for row in found} == wanted
    assert len(wanted) == 18


def test_telemetry_is_joined_with_trials(ask: Ask, run: Path) -> None:
    sql = (
        "select count(*), count(distinct t.trial_id), min(t.time) >= min(s.started_at) "
        "from telemetry t join trials s using (run_id, trial_id)"
    )
    (row,) = rows(ask(run, sql, "--format", "csv"))
    table = pyarrow.parquet.read_table(run / "telemetry.parquet")
    assert row == [str(table.num_rows), str(len(table["trial_id"].unique())), "true"]


def test_flows_have_trials_and_levels(ask: Ask, tmp_path: Path) -> None:
    store = build_run(tmp_path / "r", RunOptions(flows=True, telemetry=False))
    sql = (
        "select f.factor_chain_length, sum(f.packets), min(time) is not null "
        "from flows f join trials using (run_id, trial_id) "
        "where protocol_name = 'tcp' group by all order by 1"
    )
    found = rows(ask(store.folder, sql, "--format", "csv"))
    assert [(row[0], row[2]) for row in found] == [("1", "true"), ("2", "true")]
    flows = pyarrow.parquet.read_table(store.flows_path).to_pylist()
    of_tcp = sum(row["packets"] for row in flows if row["protocol_name"] == "tcp")
    assert sum(int(row[1]) for row in found) == of_tcp


def test_several_runs_are_one_table(ask: Ask, run: Path, tmp_path: Path) -> None:
    other = run_folder(
        tmp_path / "results" / "other",
        [trial(scenario={"chain_length": "none", 'odd "name"; --': [1]})],
    )
    sql = 'select run_id, factor_chain_length, "factor_odd ""name""; --" from trials order by 1, 2'
    found = rows(ask(run, other.folder, sql, "--format", "csv"))
    assert len(found) == 73
    # Levels of one factor that are numbers here and text there are text.
    assert ["other", "none", "[1]"] in found
    empty = "select count(*) from telemetry where run_id = 'other'"
    assert rows(ask(run, other.folder, empty, "--format", "csv")) == [["0"]]
    by_name = ask("o*", "select count(*) n from trials", "--results", tmp_path / "results")
    assert by_name.out.split() == ["n", "─", "1"]
    every = ask("--all", "select count(*) n from trials", "--results", tmp_path / "results")
    assert every.out == by_name.out


def test_a_run_of_which_little_is_there(ask: Ask, tmp_path: Path) -> None:
    store = build_run(tmp_path / "r", RunOptions(trials=0, telemetry=False, summaries=False))
    for view in VIEWS:
        assert ask(store.folder, f"select * from {view}").status == 0
    assert "(no rows)" in ask(store.folder, "from joined").out


def test_the_noise_gates_readings_are_there(ask: Ask, tmp_path: Path) -> None:
    store = build_run(tmp_path / "r", RunOptions(trials=2, telemetry=False))
    marked = tuple(record.trial_id for record in store.trials())
    store.append_reading(reading("c001", value=1.5))
    store.append_reading(reading("r001-b001", departed=True, block=marked, marks="it was loud"))
    sql = "select reading_id, value, departed, len(block::json[]) from gate order by reading_id"
    assert rows(ask(store.folder, sql, "--format", "csv")) == [
        ["c001", "1.5", "false", "0"],
        ["r001-b001", "100.0", "true", "2"],
    ]
    status = "select distinct status from trials"
    assert rows(ask(store.folder, status, "--format", "csv")) == [["untrusted"]]


@pytest.mark.gate_runs("every 5th")
@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_text('/etc/hostname')",
        "select * from read_csv('{secret}')",
        "select * from glob('/etc/*')",
        "select * from read_text('https://localhost:1/x')",
        "copy trials to '{target}'",
        "copy (select 1) to '{target}' (format csv)",
        "export database '{target}'",
        "attach '{target}'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "reset lock_configuration",
        "pragma enable_profiling",
        "drop table trials",
        "update trials set status = 'valid'",
        "create table t as select 1",
        "select 1; drop table trials",
        "call pragma_version()",
        "select secret from opened",
        "explain analyze copy (select 1 a) to '{telemetry}' (use_tmp_file false)",
        "explain (analyze) copy (select 1 a) to '{target}' (use_tmp_file false)",
        "with a as materialized (copy (select 1 a) to '{telemetry}' (use_tmp_file false)) from a",
        "with a as materialized (copy (select 1 a) to '{joined}' (use_tmp_file false)) from a",
        "select * from read_parquet('{telemetry}')",
    ],
)
def test_nothing_but_the_runs_is_in_reach(ask: Ask, run: Path, tmp_path: Path, sql: str) -> None:
    secret, target = tmp_path / "secret.csv", tmp_path / "target"
    secret.write_text("password\nhunter2\n")
    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    telemetry, joined = (
        str(run / name).replace("'", "''") for name in ("telemetry.parquet", "joined.parquet")
    )
    answer = ask(run, sql.format(secret=secret, target=target, telemetry=telemetry, joined=joined))
    assert answer.status == 2, answer
    assert answer.err.startswith("SQL: ")
    assert "Traceback" not in answer.err
    assert "hunter2" not in answer.out + answer.err
    assert not target.exists()
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before


def test_wrong_sql_is_explained(ask: Ask, run: Path) -> None:
    for sql, words in (
        ("selct 1 from trials", "syntax error"),
        ("select * from trails", 'Did you mean "trials"'),
        ("select 1 ; select 2", "2 statements"),
        ("select cast('x' as int) from trials", "convert"),
        ("/* nothing */", "0 statements"),
        ("  ", "empty"),
    ):
        answer = ask(run, sql)
        assert answer.status == 2
        assert words.lower() in answer.err.lower()


def test_what_names_no_run_is_refused(ask: Ask, run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    for words, text in (
        ((), "no run is named"),
        (("select 1",), "no run is named"),
        (("absent", "select 1"), "no such run"),
        (("x*", "select 1", "--results", tmp_path), "no run matches"),
        ((run, "--all", "select 1"), "one or the other"),
        ((run, copy, "select 1"), "the same run"),
    ):
        answer = ask(*words)
        assert answer.status == 2, words
        assert text in answer.err, words


def test_json_is_json_whatever_the_values(ask: Ask, run: Path) -> None:
    sql = (
        "select 'a\"b' t, 'nan'::double n, [1, null] l, {'a': 1.5} s, null u, true b, "
        "sum(round) big, 1.5::decimal(9, 2) d, timestamp '2026-01-31 12:00:00' w from trials"
    )
    (row,) = json.loads(ask(run, sql, "--format", "json").out)
    rounds = sum(json.loads(x)["round"] for x in (run / "trials.jsonl").read_text().splitlines())
    assert row == {
        "t": 'a"b',
        "n": None,
        "l": [1, None],
        "s": {"a": 1.5},
        "u": None,
        "b": True,
        "big": rounds,
        "d": 1.5,
        "w": "2026-01-31T12:00:00",
    }
    assert json.loads(ask(run, "select 1 a where false", "--format", "json").out) == []


def test_parquet_goes_to_a_file_with_its_types(ask: Ask, run: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.parquet"
    sql = "select trial_id, started_at, round from trials"
    answer = ask(run, sql, "--format", "parquet", "-o", target)
    assert (answer.status, answer.out) == (0, f"{target}\n")
    read = pyarrow.parquet.read_table(target)
    assert read.num_rows == 72
    assert [str(kind) for kind in read.schema.types] == ["string", "timestamp[us]", "int64"]
    assert ask(run, sql, "--format", "parquet").status == 2


def test_a_failing_query_replaces_nothing_and_leaves_no_file(
    ask: Ask, run: Path, tmp_path: Path
) -> None:
    before = (run / "trials.jsonl").read_bytes()
    assert ask(run, "select 1 a", "--format", "csv", "-o", run / "trials.jsonl").status == 2
    assert (run / "trials.jsonl").read_bytes() == before
    assert ask(run, "select 1 a", "-o", run / "no" / "such" / "folder.csv").status == 2
    sql = "select cast(case when i < 50000 then '1' else 'x' end as int) from range(60000) r(i)"
    assert ask(run, sql, "--format", "csv", "-o", tmp_path / "t.csv").status == 2
    assert list(tmp_path.iterdir()) == []


def test_the_query_may_come_from_stdin_and_the_reader_may_go(run: Path) -> None:
    command = [SFCPERF, "query", str(run), "-"]
    with subprocess.Popen(
        [*command, "--format", "csv"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "80"},
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"select i from range(2000000) r(i)")
        process.stdin.close()
        assert process.stdout.readline() == b"i\n"
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""


def test_control_characters_do_not_reach_the_terminal(ask: Ask, run: Path) -> None:
    answer = ask(run, "select chr(27) || '[2J' || chr(10) || 'x' as t")
    assert "\x1b" not in answer.out
    assert len(answer.out.splitlines()) == 3


def test_help_needs_no_database() -> None:
    assert imports("import sfcperf.cli.verbs.results.query", ["duckdb", "pyarrow"]) == ""


def test_files_that_wait_to_be_read_hold_no_descriptor(run: Path) -> None:
    """Of many runs, there would be more files than descriptors."""
    before = list(Path("/proc/self/fd").iterdir())
    held = [arrow_dataset(run / "telemetry.parquet") for _ in range(20)]
    assert len(list(Path("/proc/self/fd").iterdir())) <= len(before) + 2
    assert all(each.count_rows() for each in held)
