"""The report of a run whose variants stand on several infrastructures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.records.manifests import run_manifest
from support.records.trials import run_folder, trial

from sfcperf.report.run_facts import run_facts
from sfcperf.report.trial_tables import proofs
from sfcperf.results.records import TrialRecord


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
