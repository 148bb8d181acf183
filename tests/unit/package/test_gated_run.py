"""A run with a noise gate: what the gate marked and what was run again is packed and verified."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.records.packages import OPTIONS, PLAIN, contents, finished_run, sealed
from support.records.readings import reading

from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.control.publishing import publish_report
from sfcperf.package.pack import pack
from sfcperf.package.verify import verify
from sfcperf.results.manifest import counts

GATE = "runs/run-1/gate.jsonl"


def test_marks_and_reruns_are_part_of_the_package(tmp_path: Path) -> None:
    store = finished_run(tmp_path / "run-1", PLAIN)
    marked = next(record for record in store.trials() if record.status == "valid")
    departed = reading(
        "r001-b001", departed=True, block=(marked.trial_id,), marks="noise gate: the sentinel"
    )
    store.append_reading(reading("c001"))
    store.append_reading(departed)
    rerun = marked.trial_id.replace("r001-", "r001.1-")
    store.append_trial(
        replace(marked, trial_id=rerun, rerun_of=marked.trial_id, raw=f"raw/{rerun}")
    )
    (store.raw(rerun) / "ping.txt").write_text("as printed\n")
    store.write_manifest({**store.manifest(), "trials": counts(store.trials())})
    SummaryAnalysis({}).analyse(store)
    assert publish_report(store) == []

    packed = pack([store], tmp_path / "p.zip", OPTIONS)
    assert packed.warnings == ()
    assert {GATE, f"runs/run-1/raw/{rerun}/ping.txt"} <= contents(packed.path).keys()
    assert verify(packed.path).holds

    # Without the gate's readings the marked trial would count again.
    unmarked = verify(sealed(packed.path, tmp_path / "q.zip", GATE, b""))
    assert {c.name for c in unmarked.checks if c.state == "failed"} == {"summaries"}
    damaged = verify(sealed(packed.path, tmp_path / "r.zip", GATE, b'{"schema_version": 1}\n'))
    assert {c.name for c in damaged.checks if c.state == "failed"} == {"documents"}
