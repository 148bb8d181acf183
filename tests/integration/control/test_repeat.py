"""A campaign in real chains: two runs, each deployed, measured and removed on its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.command import spawn
from support.local import left_by, small_workflow
from support.schemas import validator, violations

from sfcperf.results.store import RunStore

WORKFLOW = small_workflow(design={"rounds": 2, "warmup_rounds": 0, "runs": 2})
MEASURED = {"valid", "untrusted"}
"""States of trials: a busy machine makes some untrusted."""


def in_order(results: Path) -> list[RunStore]:
    stores = [RunStore.open(folder) for folder in results.iterdir()]
    return sorted(stores, key=lambda store: store.manifest()["repeat"]["index"])


@pytest.mark.root
def test_runs_of_a_campaign_are_measured_one_after_the_other(
    tmp_path: Path, state_dir: Path
) -> None:
    workflow, results = tmp_path / "twice.json", tmp_path / "results"
    workflow.write_text(json.dumps(WORKFLOW))
    with spawn("run", workflow, "--results", results) as process:
        out, err = process.communicate(timeout=300)
    first, second = in_order(results)
    statuses = []
    for store in (first, second):
        assert violations(store.folder) == []
        assert len(store.trials()) == 2
        statuses += [record.status for record in store.trials()]
        assert left_by(store.folder) == []
    assert set(statuses) <= MEASURED
    all_valid = set(statuses) == {"valid"}
    assert process.returncode == (0 if all_valid else 1), err
    assert first.manifest()["seed"] != second.manifest()["seed"]
    assert first.manifest()["ended_at"] < second.manifest()["started_at"]
    if all_valid:
        kept = json.loads((state_dir / "noise-floor.json").read_text())
        validator("noise-floor").validate(kept)
        assert [run["run_id"] for run in kept["sets"][0]["runs"]] == [first.run_id, second.run_id]
    assert re.search(r"campaign \S+: 2 of 2 runs complete", out)


@pytest.mark.exhaustive
@pytest.mark.root
def test_a_packaged_campaign_is_replayed_as_one(tmp_path: Path) -> None:
    workflow, package = tmp_path / "twice.json", tmp_path / "twice.zip"
    workflow.write_text(json.dumps(WORKFLOW))
    there, here = tmp_path / "there", tmp_path / "here"
    assert called("run", workflow, "--results", there, "--quiet")[0] in (0, 1)
    packaged = in_order(there)
    folders = [store.folder for store in packaged]
    assert called("pack", *folders, "-o", package, "--allow-incomplete")[0] == 0
    code, out = called("replay", package, "--trust", "--test", "t", "--json", "--results", here)
    verdict = json.loads(out)
    validator("replay").validate(verdict)
    assert code == (0 if verdict["reproduced"] else 1)
    again = in_order(here)
    places = [store.manifest()["repeat"] for store in again]
    assert verdict["packaged_runs"] == [store.run_id for store in packaged]
    assert verdict["runs"] == [store.run_id for store in again]
    assert [place["index"] for place in places] == [1, 2]
    assert {place["campaign"] for place in places} != {packaged[0].manifest()["repeat"]["campaign"]}
    for store, before in zip(again, packaged, strict=True):
        assert violations(store.folder) == []
        assert store.manifest()["seed"] == before.manifest()["seed"]
        assert len(store.trials()) == 2
        assert {record.status for record in store.trials()} <= MEASURED
        assert left_by(store.folder) == []


def called(*arguments: object) -> tuple[int, str]:
    with spawn(*arguments) as process:
        out, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    return process.returncode, out
