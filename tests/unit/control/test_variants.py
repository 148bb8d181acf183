"""Variants on several infrastructures: each trial once, nothing left, whatever dies when.

The two fake drivers refuse to undo what the other has made, so a resource that is given to the
wrong one would stay, and be found.
"""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from support.deaths import check_each_point, killed_at, killed_run, resumed
from support.engine import Bench, Observer, die, in_child
from support.schemas import violations

import sfcperf.control.run as engine
from sfcperf.control.state import StateDir
from sfcperf.drivers.base import Resource
from sfcperf.errors import EnvironmentLacks, InputError, WorkflowError
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document

pytestmark = pytest.mark.usefixtures("fast_facts")


def three(bench: Bench, **changes: Any) -> dict[str, Any]:
    """Two drivers, one of them in two configurations."""
    return {
        "factors": {"chain_length": [0, 1]},
        "probes": [{"probe": "fake", "name": "a"}],
        "design": {"rounds": 2, "warmup_rounds": 1, "max_retries": 1},
        "variants": {
            "here": {},
            "there": {
                "infrastructure.driver": "other-fake",
                "infrastructure.config.folder": str(bench.resources),
            },
            "tuned": {"infrastructure.config.deploy_s": 0.0001},
        },
        **changes,
    }


def test_each_variant_is_built_by_its_own_driver_and_the_manifest_says_so(bench: Bench) -> None:
    seen: dict[str, Any] = {}

    def look(_: int) -> None:
        (run_id,) = StateDir().run_ids()
        folder = bench.state / "runs" / run_id
        seen.update(json.loads((folder / "run.json").read_text()))
        lines = (folder / "journal.jsonl").read_text().splitlines()
        seen["owners"] = {json.loads(line).get("owner", 0) for line in lines}

    bench.start(Observer(look), **three(bench))
    assert seen["driver"] == "fake"
    assert [entry["driver"] for entry in seen["further"]] == ["other-fake", "fake"]
    assert seen["further"][1]["config"]["deploy_s"] == 0.0001
    assert seen["owners"] == {0, 1, 2}
    assert bench.leftovers() == []
    assert [record.trial_id for record in bench.trials()] == bench.planned(**three(bench))
    assert {record.status for record in bench.trials()} == {"valid"}
    # A driver numbers its deployments: 2 chain lengths, a warm-up round and 2 rounds each.
    for name in ("here", "there", "tuned"):
        mine = [r for r in bench.trials() if r.scenario["variant"] == name]
        assert sorted(record.deployment["facts"]["number"] for record in mine) == [3, 4, 5, 6]
    assert violations(bench.folder()) == []

    manifest = bench.manifest()
    assert manifest["variants"] == [
        {"name": name, "changes": changes} for name, changes in three(bench)["variants"].items()
    ]
    assert manifest["infrastructure"] == {"fake": True}
    described = [(i["driver"], i["variants"], i["facts"]) for i in manifest["infrastructures"]]
    assert described == [
        ("fake", ["here"], {"fake": True}),
        ("other-fake", ["there"], {"fake": True}),
        ("fake", ["tuned"], {"fake": True}),
    ]
    (session,) = manifest["sessions"]
    assert session["tags"] == [entry["tag"] for entry in manifest["infrastructures"]]
    assert (session["tag"], len(set(session["tags"]))) == (session["tags"][0], 3)
    raw = {path.name for path in (bench.folder() / "raw" / "driver").iterdir()}
    assert raw == {"1-fake", "2-other-fake", "3-fake"}


def test_variants_on_one_infrastructure_share_its_driver(bench: Bench) -> None:
    knob = {"a": {}, "b": {"probes.0.packets": 20}}
    bench.start(**three(bench, variants=knob))
    assert {record.packets.get("sf-1") for record in bench.trials()} == {None, 10, 20}
    manifest = bench.manifest()
    assert "infrastructures" not in manifest
    assert "tags" not in manifest["sessions"][0]
    assert list((bench.folder() / "raw" / "driver").iterdir()) == []


def test_stopping_waits_for_all_variants_of_a_block(bench: Bench) -> None:
    """One variant is known at once, the other never: both are measured to the last round."""
    stop = {"relative_half_width": 0.001, "max_rounds": 5}
    design = {"rounds": 2, "warmup_rounds": 0, "stop_when": stop}
    variants = {"steady": {"probes.0.spread": 0}, "noisy": {"probes.0.spread": 50}}
    bench.start(**three(bench, variants=variants, design=design))
    rounds = {(r.scenario["variant"], r.scenario["chain_length"], r.round) for r in bench.trials()}
    assert rounds == {(v, n, r) for v in variants for n in (0, 1) for r in range(1, 6)}
    assert len(bench.manifest()["stopping"]) == 4


def test_what_one_driver_cannot_build_is_told_at_its_variant(bench: Bench) -> None:
    variants = {"a": {}, "b": {"chain.functions.0.count": 6}}
    changes = three(bench, variants=variants, factors={})
    changes["chain"] = {"functions": [{"vnf": "sf", "count": 1}]}
    with pytest.raises(WorkflowError, match="longer than a fake chain") as caught:
        bench.start(**changes)
    assert caught.value.where == "/variants/b/chain.functions.0.count"
    assert bench.leftovers() == [] and list(bench.results.iterdir()) == []


def test_a_requirement_of_any_driver_is_asked_for(bench: Bench) -> None:
    changes = three(bench)
    changes["variants"]["tuned"] = {"infrastructure.config.missing": True}
    with pytest.raises(EnvironmentLacks, match="fake-tool"):
        bench.start(**changes)


def test_a_driver_that_cannot_be_released_does_not_keep_the_others(bench: Bench) -> None:
    changes = three(bench)
    changes["variants"]["there"]["infrastructure.config.stuck"] = True
    # `close` of the stuck one fails; what the journal says is removed for it all the same.
    outcome = bench.start(**changes)
    assert outcome.exit_code == 0
    assert bench.leftovers() == []


def test_a_resume_on_other_infrastructure_is_refused(bench: Bench) -> None:
    killed_run(bench, 120, **three(bench))
    (run_id,) = StateDir().run_ids()
    info = json.loads((bench.state / "runs" / run_id / "run.json").read_text())
    tags = {info["tag"], *(entry["tag"] for entry in info["further"])}
    assert len(tags) == 3
    assert tags <= StateDir()._tags(), "they are taken"
    applied = bench.folder() / "workflow.applied.json"
    document = json.loads(applied.read_text())
    document["variants"]["tuned"]["infrastructure.config.deploy_s"] = 0.0002
    applied.write_text(json.dumps(document))
    with pytest.raises(
        InputError, match=r"infrastructure/config/deploy_s was 0\.0001 and is 0\.0002"
    ):
        bench.resume()
    bench.clean()
    assert bench.leftovers() == []


def check(bench: Bench) -> None:
    """Complete runs of all variants."""
    for store in resumed(bench, **three(bench)):
        assert len(store.trials()) == 12


def test_killed_at_any_point_it_is_resumed_to_its_end(bench: Bench) -> None:
    check_each_point(bench, check, **three(bench))


@pytest.mark.exhaustive
def test_killed_again_while_it_resumes(bench: Bench) -> None:
    for first, second in ((60, 5), (110, 30), (170, 70), (230, 100)):
        assert killed_run(bench, first, **three(bench)) == -signal.SIGKILL
        assert killed_at(second, bench.resume) == -signal.SIGKILL
        bench.resume()
        bench.clean()
        check(bench)


def test_a_killed_run_is_cleaned_on_all_infrastructures(bench: Bench) -> None:
    def tags() -> set[str]:
        return {path.name.split("-")[0] for path in bench.resources.iterdir()}

    once_all_have_built = Observer(lambda _: die() if len(tags()) == 3 else None)
    # Nothing is taken away: each driver's chains stand when the run dies.
    faults = {"infrastructure.config.faults": {str(n): "teardown" for n in range(1, 9)}}
    changes = three(bench)
    changes["variants"] = {
        name: {**change, **faults} for name, change in changes["variants"].items()
    }
    assert in_child(lambda: bench.start(once_all_have_built, **changes)) == -signal.SIGKILL
    assert len(tags()) == 3
    assert bench.clean() == ["removed"]
    assert bench.leftovers() == []


def test_what_one_driver_cannot_undo_does_not_keep_the_others_leftovers(bench: Bench) -> None:
    workflow = load_document(bench.document(**three(bench)), bench.results)
    state, run_id, tag = StateDir().create("w")
    tags = StateDir().tags(tag, 3)
    store = RunStore.create(bench.results / run_id)
    engine._write_info(state, workflow, store, tags)
    journal = state.journal()
    for owner, kind in ((0, "file"), (1, "file"), (2, "file")):
        path = bench.resources / f"{tags[owner]}-d1-net"
        journal.of(owner).intend([Resource(kind, str(path))])
        path.touch()
    state.release()
    # The second driver refuses a kind that it does not know.
    assert bench.clean() == ["failed"]
    assert [path.name for path in bench.resources.iterdir()] == [f"{tags[1]}-d1-net"]
    assert StateDir().run_ids() == [run_id]
