"""What the report says of a run as a whole, and of its deployments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.records.manifests import run_manifest
from support.records.trials import run_folder, trial

from sfcperf.report.run_facts import dear_monitors, monitors, run_facts
from sfcperf.report.trial_tables import proofs
from sfcperf.results.records import TrialRecord


def test_what_a_monitor_used_while_probes_measured() -> None:
    manifest = {"monitors": [{"monitor": "pptmon", "cost": "little", "cpu_s": None}]}
    rows = monitors(manifest, [], {"pptmon": 4.0, "top": 1.0}, {"pptmon": 0.004})
    assert rows == [
        ("pptmon", "little", "4 s of CPU time, 0.4 % of one CPU while probes measured"),
        ("top", "not stated", "1 s of CPU time"),
    ]


def test_only_a_monitor_that_uses_much_is_warned_about() -> None:
    assert dear_monitors({"pptmon": 0.05}) == []
    (said,) = dear_monitors({"pptmon": 0.062, "other": 0.001})
    assert "pptmon used 6.2 % of one CPU" in said


def test_deployments_of_two_drivers_may_have_one_id(tmp_path: Path) -> None:
    def of(scenario: str, evidence: str) -> TrialRecord:
        traversal = {"proven": True, "method": "capture", "evidence": evidence}
        deployment = {"id": "d1", "encapsulation": "nsh-eth", "spi": 1, "traversal": traversal}
        return replace(trial(1, scenario), deployment=deployment)

    records = [of("s000", "raw/traversal/r001-s000-1.json"), of("s001", "raw/traversal/b.json")]
    store = run_folder(tmp_path / "run", records)
    found = proofs(store.trials(), store.folder)
    assert [row.trials for row in found] == [(record.trial_id,) for record in store.trials()]


def test_each_driver_is_named_once() -> None:
    assert ("Driver", "local") in run_facts({**run_manifest("run"), "driver": "local"}, [])
    several = [{"driver": "local"}, {"driver": "openstack"}, {"driver": "local"}]
    facts = run_facts({**run_manifest("run"), "infrastructures": several}, [])
    assert ("Driver", "local, openstack") in facts
