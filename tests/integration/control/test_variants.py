"""Variants in real chains: encapsulations side by side, and two infrastructures in one run."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from support.engine import in_child
from support.local import left_by, small_workflow, traces
from support.schemas import violations

from sfcperf.control import run as engine
from sfcperf.control.clean import clean
from sfcperf.control.events import Listener
from sfcperf.control.state import StateDir
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document

pytestmark = pytest.mark.root


def document(**variants: dict[str, Any]) -> dict[str, Any]:
    return small_workflow(
        topology="T2",
        vnfs={"fwd": {"type": "forwarder", "knobs": {"engine": "userspace"}}},
        chain={"functions": [{"vnf": "fwd"}], "encapsulation": "nsh-eth"},
        monitors=[{"monitor": "cpu"}],
        design={"rounds": 2, "warmup_rounds": 0, "seed": 3},
        variants=variants,
    )


def run(tmp_path: Path, **variants: dict[str, Any]) -> RunStore:
    workflow = load_document(document(**variants), tmp_path)
    results = tmp_path / "results"
    engine.start(workflow, results, command=["test"], listener=Listener())
    (folder,) = results.iterdir()
    store = RunStore(folder)
    assert violations(folder) == []
    assert left_by(folder) == []
    return store


def by_variant(store: RunStore) -> dict[str, list[TrialRecord]]:
    found: dict[str, list[TrialRecord]] = {}
    for record in store.trials():
        assert record.status == "valid", record.reasons
        found.setdefault(record.scenario["variant"], []).append(record)
    return found


def test_encapsulations_are_measured_back_to_back(tmp_path: Path, state_dir: Path) -> None:
    store = run(tmp_path, eth={}, gpe={"chain.encapsulation": "nsh-vxlan-gpe"})
    trials = by_variant(store)
    assert {name: [r.round for r in records] for name, records in trials.items()} == {
        "eth": [1, 2],
        "gpe": [1, 2],
    }
    built = {n: {r.deployment["encapsulation"] for r in records} for n, records in trials.items()}
    assert built == {"eth": {"nsh-eth"}, "gpe": {"nsh-vxlan-gpe"}}
    # A block is done before the next begins.
    assert [record.round for record in store.trials()] == [1, 1, 2, 2]
    assert {row.scenario["variant"]: row.n for row in store.summaries()} == {"eth": 2, "gpe": 2}


@pytest.mark.exhaustive
def test_two_infrastructures_stand_in_one_run(tmp_path: Path, state_dir: Path) -> None:
    store = run(tmp_path, small={"infrastructure.config.mtu": 900}, large={})
    mtu = {
        name: {record.deployment["facts"]["mtu"] for record in records}
        for name, records in by_variant(store).items()
    }
    assert mtu == {"small": {900}, "large": {1400}}
    manifest = store.manifest()
    assert [entry["variants"] for entry in manifest["infrastructures"]] == [["small"], ["large"]]
    assert len(set(manifest["sessions"][0]["tags"])) == 2


class DieAfter(Listener):
    """Kills the process after so many recorded trials."""

    def __init__(self, trials: int) -> None:
        self.left = trials

    def trial_ended(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.exhaustive
def test_what_a_killed_run_left_on_either_is_cleaned(tmp_path: Path, state_dir: Path) -> None:
    """Killed with the chain of one infrastructure standing; each is undone by its own driver."""
    workflow = load_document(document(small={"infrastructure.config.mtu": 900}, large={}), tmp_path)
    first_of_second_round = 3
    for died_after in (1, 2, first_of_second_round):
        results = tmp_path / f"results-{died_after}"

        def start(after: int = died_after, into: Path = results) -> None:
            engine.start(workflow, into, command=["test"], listener=DieAfter(after))

        assert in_child(start) == -signal.SIGKILL
        (folder,) = results.iterdir()
        info = json.loads((StateDir().root / "runs" / folder.name / "run.json").read_text())
        tags = [info["tag"], *(entry["tag"] for entry in info["further"])]
        assert len(tags) == 2
        assert [trace for tag in tags for trace in traces(tag)] != []
        if died_after == 1:
            assert [run.status for run in clean(dry_run=False)] == ["removed"]
            assert [trace for tag in tags for trace in traces(tag)] == []
        engine.resume(folder, command=["test"], listener=Listener())
        assert [trace for tag in tags for trace in traces(tag)] == []
        assert StateDir().run_ids() == []
        ids = [record.trial_id for record in RunStore(folder).trials()]
        assert sorted(ids) == [f"r{n:03d}-s{s:03d}-ping" for n in (1, 2) for s in (0, 1)]
