"""gate.jsonl: readings survive, mark trials for every reader, and damage is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.records.readings import reading
from support.records.runs import build_run
from support.records.trials import trial

from sfcperf.errors import InputError
from sfcperf.results.manifest import counts
from sfcperf.results.noise_gate import GATE_REASON, is_outside, without_replaced
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore


def store_with_marks(folder: Path) -> tuple[RunStore, list[str]]:
    store = build_run(folder)
    block = [record.trial_id for record in store.trials()][:3]
    store.append_reading(reading())
    store.append_reading(reading("r001-b001", departed=True, block=tuple(block), marks="loud"))
    return store, block


def test_marks_reach_readers_and_the_record_of_truth_stays(tmp_path: Path):
    before = build_run(tmp_path / "before").folder / "trials.jsonl"
    store, block = store_with_marks(tmp_path / "run")
    first, second = RunStore(store.folder).readings()
    assert (first, second.block) == (reading(), tuple(block))
    assert first.good and not second.good
    records = {record.trial_id: record for record in store.trials()}
    for marked in (records[trial_id] for trial_id in block):
        assert marked.status == "untrusted"
        assert marked.reasons[-1] == f"{GATE_REASON}loud"
        assert is_outside(marked)
    assert sum(is_outside(record) for record in records.values()) == 3
    assert (store.folder / "trials.jsonl").read_text() == before.read_text()


def test_a_failed_trial_stays_failed(tmp_path: Path):
    store = build_run(tmp_path / "run")
    failed = [r.trial_id for r in store.trials() if r.status == "failed"]
    store.append_reading(reading("r001-b001", departed=True, block=tuple(failed), marks="loud"))
    assert [r.trial_id for r in store.trials() if r.status == "failed"] == failed


def test_counts_are_of_the_trials_that_stand():
    def record(trial_id: str, status: str, rerun_of: str = "") -> TrialRecord:
        reasons = () if status == "valid" else (f"{GATE_REASON}steal",)
        return trial(trial_id=trial_id, status=status, reasons=reasons, rerun_of=rerun_of)  # type: ignore[arg-type]

    records = [
        record("r001-s000-a", "untrusted"),
        record("r001.1-s000-a", "untrusted", "r001-s000-a"),
        record("r001.2-s000-a", "valid", "r001.1-s000-a"),
        record("r001-s000-b", "untrusted"),
    ]
    assert [r.trial_id for r in without_replaced(records)] == ["r001.2-s000-a", "r001-s000-b"]
    assert counts(records) == {"valid": 1, "untrusted": 1, "failed": 0}


def test_a_torn_last_line_is_not_a_reading(tmp_path: Path):
    store, _ = store_with_marks(tmp_path / "run")
    with (store.folder / "gate.jsonl").open("a") as file:
        file.write('{"schema_version": 1, "reading_id": "r0')
    assert len(RunStore(store.folder).readings()) == 2
    RunStore(store.folder).append_reading(reading("r002-b001"))
    assert len(RunStore(store.folder).readings()) == 3


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [("departed", 1, "departed is 1"), ("schema_version", 99, "newer SFCPerf")],
)
def test_damage_is_told_with_its_line(tmp_path: Path, key: str, value: object, message: str):
    store, _ = store_with_marks(tmp_path / "run")
    path = store.folder / "gate.jsonl"
    lines = path.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), key: value})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=message) as damaged:
        store.trials()
    assert str(damaged.value.where).endswith("gate.jsonl:2")
