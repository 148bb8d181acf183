"""What becomes of attempts that failed: they are counted wherever the results are."""

from __future__ import annotations

import json
import os
import signal

import pyarrow.csv
import pyarrow.parquet
import pytest
from support.engine import Bench, faulty, in_child
from support.fake_service import RunningFake
from support.schemas import violations

from sfcperf.control.trials import group
from sfcperf.elasticsearch import mappings
from sfcperf.elasticsearch.documents import Documents
from sfcperf.errors import ExitCode
from sfcperf.query.tables import read_run, tables
from sfcperf.results.export import export
from sfcperf.results.store import RunStore

pytestmark = pytest.mark.usefixtures("fast_facts")

ONE = {"rounds": 1, "warmup_rounds": 0, "max_retries": 2}


def test_they_are_counted_wherever_the_results_are(bench: Bench) -> None:
    """sf-1 crashed once, and the tool failed once; the third attempt is valid."""
    outcome = bench.start(probes=[faulty(attempt1="break", attempt2="fail")], design=ONE)
    assert outcome.exit_code is ExitCode.OK
    store = RunStore(bench.folder())
    assert violations(store.folder) == []
    record = bench.by_id()["r001-s001-a"]
    assert (record.status, record.attempts) == ("valid", 3)
    assert [(f.attempt, f.kind, f.functions) for f in record.failed_attempts] == [
        (1, "crash", ("sf-1",)),
        (2, "measurement", ()),
    ]
    assert store.manifest()["attempts"] == {
        "made": 4,
        "failed": 2,
        "crashes": 1,
        "by_kind": {"crash": 1, "measurement": 1},
        "crashed_functions": {"sf-1": 1},
    }

    without, having = store.summaries()
    assert (without.failed_attempts, without.crashes) == (0, 0)
    assert (having.failed_attempts, having.crashes, having.valid) == (2, 1, True)
    assert any("sf-1" in text for text in having.warnings)
    assert "crashes" in (store.folder / "summary.csv").read_text().partition("\n")[0].split(",")

    found = tables([read_run(store)])["failed_attempts"].to_pylist()
    assert [(row["trial_id"], row["kind"], row["functions"]) for row in found] == [
        ("r001-s001-a", "crash", '["sf-1"]'),
        ("r001-s001-a", "measurement", "[]"),
    ]

    (target,) = export(store, "parquet", bench.results.parent / "out.parquet")
    rows = pyarrow.parquet.read_table(target).to_pylist()
    assert {row["trial_id"]: (row["failures"], row["crashes"]) for row in rows} == {
        "r001-s000-a": (0, 0),
        "r001-s001-a": (2, 1),
    }

    documents = Documents(store)
    trials = [json.loads(one.body)["trial"] for one in documents.of(mappings.TRIALS)]
    trials.sort(key=lambda trial: str(trial["id"]))
    assert [(trial["failed_attempts"], trial["crashes"]) for trial in trials] == [(0, 0), (2, 1)]
    assert trials[1]["crashed_functions"] == ["sf-1"]
    assert len(trials[1]["failures"]) == 2
    (run,) = (json.loads(one.body)["run"] for one in documents.of(mappings.RUNS))
    assert run["attempts"] == {"made": 4, "failed": 2, "crashes": 1}
    assert run["crashed_functions"] == ["sf-1"]
    summaries = [json.loads(one.body)["summary"] for one in documents.of(mappings.SUMMARIES)]
    assert [summary["crashes"] for summary in summaries] == [0, 1]


def test_a_function_that_crashes_in_the_warm_up_is_a_problem_of_the_run(bench: Bench) -> None:
    bench.start(probes=[faulty("w001-s001", attempt1="break")])
    (problem,) = bench.manifest()["problems"]
    assert "w001-s001-a" in problem
    assert "sf-1: it crashed" in problem
    (failed,) = [f for w in RunStore(bench.folder()).warmups() for f in w.failed_attempts]
    assert (failed.kind, failed.functions) == ("crash", ("sf-1",))


def test_a_deployment_that_fails_counts_once_for_its_group(bench: Bench) -> None:
    """Two trials share it; the second one has no attempt of its own."""
    config = {"driver": "fake", "config": {"folder": str(bench.resources), "faults": {"1": "bug"}}}
    bench.start(
        infrastructure=config, factors={"chain_length": [1]}, design={**ONE, "max_retries": 0}
    )
    first, second = bench.trials()
    assert [failed.kind for failed in first.failed_attempts] == ["deployment"]
    assert first.reasons == second.reasons == (first.failed_attempts[0].reason,)
    assert (second.status, second.failed_attempts) == ("failed", ())
    assert "a bug in the driver" in second.reasons[0]
    assert bench.manifest()["attempts"]["made"] == 1


def test_a_crash_outlives_a_run_that_is_killed_in_the_retry(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = group.attempt

    def killed_in_the_second(*args: object) -> object:
        if "attempt-2" in str(args[-1]):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)  # type: ignore[arg-type]

    def run() -> None:
        monkeypatch.setattr(group, "attempt", killed_in_the_second)
        bench.start(probes=[faulty(attempt1="break")], design=ONE)

    assert in_child(run) < 0
    bench.resume()
    record = bench.by_id()["r001-s001-a"]
    assert (record.status, record.attempts) == ("valid", 2)
    assert [failed.kind for failed in record.failed_attempts] == ["crash"]


def test_a_service_that_was_down_between_trials_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = iter(["it is away"])
    monkeypatch.setattr(RunningFake, "problem", lambda _: next(states, None))
    services = {"store": {"service": "fake", "folder": str(bench.resources)}}
    bench.start(probes=[{"probe": "fake", "name": "a"}], design=ONE, services=services)
    (problem,) = bench.manifest()["problems"]
    assert "service store: it is away" in problem


def test_what_the_chain_loses_is_a_warning_and_in_a_closed_loop_a_doubt(bench: Bench) -> None:
    lossy = {"probe": "fake", "packets": 100, "lost": 8}
    bench.start(
        probes=[
            {**lossy, "name": "open"},
            {**lossy, "name": "closed", "closed_loop": True},
            {**lossy, "name": "dead", "lost": 100},
            {**lossy, "name": "whole", "lost": 1},
        ],
        factors={"chain_length": [1]},
        design={**ONE, "max_retries": 0},
    )
    records = {record.label: record for record in bench.trials()}
    assert {label: record.status for label, record in records.items()} == {
        "open": "valid",
        "closed": "untrusted",
        "dead": "failed",
        "whole": "valid",
    }
    rows = {row.label: row for row in RunStore(bench.folder()).summaries()}
    assert rows["open"].loss_ratio == pytest.approx(0.08)
    assert [label for label, row in rows.items() if row.is_lossy] == ["open"]
    assert any("8 % of the packets were lost" in text for text in rows["open"].warnings)
    assert not any("lost" in text for text in rows["whole"].warnings)
