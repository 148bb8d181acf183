"""The noise gate on the fake driver: trials outside are kept, marked, run again.

Steal cannot be provoked where the tests run, so what the machine says of it is made up here; all
the rest is the real engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.deaths import killed_at
from support.engine import Bench

from sfcperf.cli.terminal.lines import LineDisplay
from sfcperf.control.noise import machine_noise as noise
from sfcperf.errors import WorkflowError
from sfcperf.results.noise_gate import GATE_REASON, without_replaced
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document

QUIET = noise.LoadReading(0, 20, None)
GATE = {"sentinel": None, "settle_s": 0, "max_run_queue": None, "max_other_cpu_ratio": None}
SENTINEL = {
    **GATE,
    "max_steal_ratio": None,
    "sentinel": {"probe": {"probe": "fake", "spread": 0}, "every_visits": 1, "calibration": 5},
}


@pytest.fixture
def steal(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], float]], None]:
    """Sets what the machine says of steal around the n-th measurement of the process (from 0)."""

    def set_(ratio: Callable[[int], float]) -> None:
        count = iter(range(10**6))

        def made_up(readings: Any) -> dict[str, float]:
            return {"quiet_steal_ratio": ratio(next(count)), "quiet_steal_resolution_ratio": 0.0}

        monkeypatch.setattr(noise, "quiet_evidence", made_up)

    return set_


def design(gate: dict[str, Any] | None, **changes: Any) -> dict[str, Any]:
    return {"rounds": 2, "warmup_rounds": 0, "seed": 7, "noise_gate": gate, **changes}


def superseded(records: list[TrialRecord]) -> list[str]:
    return [r.trial_id for r in records if r not in without_replaced(records)]


def test_without_a_gate_noise_is_recorded_and_changes_nothing(bench: Bench, steal: Any):
    steal(lambda _: 0.9)
    assert bench.start(design=design(None)).exit_code == 0
    assert {record.noise["quiet_steal_ratio"] for record in bench.trials()} == {0.9}
    assert "noise" not in bench.manifest()


def test_steal_while_a_trial_is_measured_excludes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    """A slow trial causes it: excluding slow trials would bias the mean."""
    made_up = {"steal_ratio": 0.9, "steal_resolution_ratio": 0.0}
    monkeypatch.setattr(noise.MachineNoise, "_steal", lambda self, after: made_up)
    assert bench.start(design=design(GATE)).exit_code == 0
    assert {r.noise["steal_ratio"] for r in bench.trials()} == {0.9}
    assert all(r.status == "valid" and not r.rerun_of for r in bench.trials())


def test_only_a_gate_costs_readings_under_load(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    read = []
    monkeypatch.setattr(noise, "under_load", lambda machine, cpus: read.append(cpus) or QUIET)
    bench.start(design=design(None, rounds=1))
    assert not read
    bench.start(design=design(GATE, rounds=1))
    assert len(read) == 2 * 4, "before and after each trial"


def test_a_trial_outside_is_kept_marked_and_run_again(
    bench: Bench, steal: Any, capsys: pytest.CaptureFixture[str]
):
    steal(lambda n: 0.2 if n == 1 else 0.0)
    outcome = bench.start(LineDisplay(), design=design(GATE))
    assert "the noise gate does not accept all trials: 1 trial more" in capsys.readouterr().err
    assert outcome.exit_code == 0
    records = bench.trials()
    (outside,) = superseded(records)
    (again,) = (r for r in records if r.rerun_of)
    assert again.rerun_of == outside
    assert again.trial_id == outside.replace("r001-", "r001.1-")
    kept = bench.by_id()[outside]
    assert kept.status == "untrusted"
    assert kept.reasons == (f"{GATE_REASON}steal 0.2 > 0.05 before or after",)
    assert kept.samples
    assert (again.status, again.round) == ("valid", 1)
    assert (RunStore(bench.folder()).folder / again.raw).is_dir()
    assert outcome.trials == {"valid": 8, "untrusted": 0, "failed": 0}
    assert bench.manifest()["noise"] | {"limits": None} == {
        "limits": None,
        "trials_outside": 1,
        "reruns": 1,
        "reruns_allowed": 2,
        "trials_that_stay_outside": 0,
        "sentinel_readings": 0,
        "sentinel_departed": 0,
    }
    summaries = RunStore(bench.folder()).summaries()
    assert all(row.n == 2 and row.valid for row in summaries)
    assert [trial for row in summaries for trial in row.excluded] == [outside]


def test_reruns_end_with_their_number_and_with_the_budget(bench: Bench, steal: Any):
    steal(lambda _: 0.5)
    outcome = bench.start(design=design({**GATE, "max_reruns": 2, "budget_ratio": 0.75}))
    assert outcome.exit_code == 1
    records = bench.trials()
    assert len(records) == 8 + 6
    assert all(record.status == "untrusted" for record in records)
    per_trial = [r.trial_id for r in records if r.trial_id.startswith("r001.2-")]
    assert len(per_trial) == 2, "four first reruns, and two more that the budget allows"
    assert bench.manifest()["noise"]["trials_that_stay_outside"] == 8


@pytest.mark.exhaustive
def test_killed_anywhere_and_resumed_each_trial_is_there_once(bench: Bench, steal: Any):
    gate = {**SENTINEL, "max_steal_ratio": 0.05, "budget_ratio": 1}

    def run() -> None:
        bench.start(design=design(gate), probes=[{"probe": "fake", "name": "a"}])

    steal(lambda n: 0.2 if n % 4 == 3 else 0.0)
    points = range(12, 150, 9)
    for point in points:
        killed_at(point, run)
        if any(bench.results.iterdir()) and (bench.folder() / "run.json").exists():
            manifest = bench.manifest()
            if (manifest["status"], manifest.get("state")) != ("complete", "done"):
                steal(lambda n: 0.2 if n % 4 == 3 else 0.0)
                bench.resume()
            records = bench.trials()
            planned = set(
                bench.planned(design=design(gate), probes=[{"probe": "fake", "name": "a"}])
            )
            assert {r.trial_id for r in records if not r.rerun_of} == planned
            assert not bench.leftovers()
            read = [t for r in RunStore(bench.folder()).readings() for t in r.block]
            assert sorted(read) == sorted(r.trial_id for r in records), "each is in one block"
        bench.clean()
        for folder in bench.results.iterdir():
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()


def test_the_sentinel_closes_every_block(bench: Bench):
    assert bench.start(design=design(SENTINEL)).exit_code == 0
    readings = RunStore(bench.folder()).readings()
    assert [r.reading_id for r in readings] == [
        *(f"c{n:03d}" for n in range(1, 6)),
        *("r001-b001", "r001-b002", "r002-b001", "r002-b002"),
    ]
    assert not any(r.departed or r.marks for r in readings)
    assert {r.value for r in readings if r.round < 2} == {100.0}
    assert sorted(t for r in readings for t in r.block) == sorted(bench.by_id())


def sentinel(script: dict[str, str], **changes: Any) -> dict[str, Any]:
    probe = {"probe": "fake", "spread": 0, "script": script}
    return {**SENTINEL, "sentinel": {**SENTINEL["sentinel"], "probe": probe}, **changes}


def test_a_reading_that_departs_marks_its_block_and_only_that(bench: Bench):
    gate = sentinel({"r001-b002/attempt-1": "far"}, budget_ratio=1)
    assert bench.start(design=design(gate)).exit_code == 0
    readings = {r.reading_id: r for r in RunStore(bench.folder()).readings()}
    departed = readings["r001-b002"]
    assert (departed.departed, departed.value, departed.reference) == (True, 200.0, 100.0)
    assert readings["r001-b002.1"].good, "the machine was looked at until it was quiet again"
    assert superseded(bench.trials()) == list(departed.block)
    for trial in departed.block:
        (reason,) = bench.by_id()[trial].reasons
        assert reason == (
            f"{GATE_REASON}the sentinel's rtt_us was +100 % from its median, allowed: 20 % "
            "(r001-b002)"
        )
    lines = (bench.folder() / "trials.jsonl").read_text().splitlines()
    as_written = {r["trial_id"]: r["status"] for r in map(json.loads, lines)}
    assert all(as_written[trial] == "valid" for trial in departed.block)
    assert {r.rerun_of for r in bench.trials() if r.rerun_of} == set(departed.block)


def test_a_block_between_a_bad_reading_and_a_good_one_is_not_trusted(bench: Bench):
    ids = ["r001-b001", *(f"r001-b001.{n}" for n in (1, 2, 3))]
    gate = sentinel({f"{name}/attempt-1": "far" for name in ids}, max_reruns=0)
    bench.start(design=design(gate))
    readings = {r.reading_id: r for r in RunStore(bench.folder()).readings()}
    assert readings["r001-b002"].good
    assert "departed before this block (r001-b001.3)" in readings["r001-b002"].marks
    assert not readings["r002-b001"].marks
    assert bench.manifest()["noise"]["trials_that_stay_outside"] == 4


def test_a_sentinel_that_cannot_be_measured_vouches_for_nothing(bench: Bench):
    gate = sentinel({"r001-b001/attempt-1": "fail"}, max_reruns=0)
    bench.start(design=design(gate))
    reading = next(r for r in RunStore(bench.folder()).readings() if r.reading_id == "r001-b001")
    assert reading.value is None
    assert "the tool said no" in reading.problem
    assert all(bench.by_id()[trial].status == "untrusted" for trial in reading.block)


@pytest.mark.parametrize(
    ("gate", "where"),
    [
        ({"max_steal_ratio": 2}, "/design/noise_gate/max_steal_ratio"),
        ({"steal": 0.1}, "/design/noise_gate/steal"),
        ({"sentinel": {"probe": {"probe": "nothing"}}}, "/design/noise_gate/sentinel/probe/probe"),
        ({"sentinel": {"metric": "rtt"}}, "/design/noise_gate/sentinel/metric"),
    ],
)
def test_a_wrong_gate_is_refused_where_it_is_wrong(bench: Bench, gate: Any, where: str):
    with pytest.raises(WorkflowError) as refused:
        load_document(bench.document(design=design(gate)), bench.results)
    assert refused.value.where == where


def test_a_calibration_reading_that_fails_is_made_up_for(bench: Bench):
    bench.start(design=design(sentinel({"c002/attempt-1": "fail"})))
    readings = [r for r in RunStore(bench.folder()).readings() if r.round == 0]
    assert [r.reading_id for r in readings] == [f"c{n:03d}" for n in range(1, 7)]
    assert [r.good for r in readings] == [True, False, True, True, True, True]


def test_a_sentinel_that_always_fails_does_not_go_on_for_ever(bench: Bench):
    script = {f"c{n:03d}/attempt-1": "fail" for n in range(1, 99)}
    bench.start(design=design(sentinel(script, max_reruns=0), rounds=1))
    assert sum(r.round == 0 for r in RunStore(bench.folder()).readings()) == 10
