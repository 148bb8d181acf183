"""The noise floor of a machine: who keeps it, who uses it, and what may not get into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.records.compared_runs import ping_run
from support.records.plans import made_up_plan
from support.schemas import validator

from sfcperf.analysis.comparison import NoiseFloors, read_floors
from sfcperf.analysis.comparison.kept_floors import MOST_SETS
from sfcperf.cli.noise_floor import floor_path
from sfcperf.errors import InputError
from sfcperf.results.store import RunStore


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def run(
    results: Path, name: str, ratio: float = 1.0, *, probe: str = "ping", **more: Any
) -> RunStore:
    """A run that can be an A/A run: it has a plan."""
    seed = sum(map(ord, name))
    store = ping_run(results / name, ratio=ratio, seed=seed, **more)
    store.write_plan(made_up_plan(("s000", "s001"), probes=[{"label": probe}]))
    store.write_workflow({"sfcperf": 1, "infrastructure": {"driver": "local"}}, results)
    return store


def test_runs_of_the_same_thing_are_kept_and_one_run_per_side_is_judged_by_them(
    results: Path, sfcperf: Command
) -> None:
    for name, ratio in (("a1", 0.97), ("a2", 1.03), ("a3", 1.0), ("new", 1.05), ("slow", 1.5)):
        run(results, name, ratio)
    compare = ("compare", "a1", "--results", results)
    assert sfcperf(*compare, "new", "--fail-on", "worse") == 1
    assert sfcperf("compare", "a1", "a2,a3", "--results", results, "--keep-noise-floor") == 0
    said = sfcperf.out
    assert "two runs differ by up to" in said
    assert f"kept in {floor_path()}" in said
    validator("noise-floor").validate(json.loads(floor_path().read_text()))
    assert sfcperf(*compare, "new", "--fail-on", "worse", "--html", results / "page.html") == 0
    said = " ".join(sfcperf.out.split())
    assert "within what two runs of the same thing differ by here" in said
    assert "from 3 A/A runs" in said
    assert '<div class="reason">within what' in (results / "page.html").read_text()
    assert sfcperf(*compare, "slow", "--fail-on", "worse", "--json", "-") == 1
    document = json.loads(sfcperf.out)
    validator("comparison").validate(document)
    assert document["rows"][0]["floor"]["runs"] == ["a1", "a2", "a3"]


def test_a_floor_is_of_one_machine_and_one_workflow(results: Path, sfcperf: Command) -> None:
    run(results, "a1")
    run(results, "other", probe="something else")
    elsewhere = run(results, "elsewhere")
    manifest = elsewhere.manifest()
    manifest["host"]["cpu"]["model"] = "another CPU"
    elsewhere.write_manifest(manifest)
    keep = ("--keep-noise-floor", "--results", results)
    assert sfcperf("compare", "a1", "other", *keep) == 2
    assert "run of another workflow than a1" in sfcperf.err
    assert sfcperf("compare", "a1", "elsewhere", *keep) == 2
    assert "run of another machine than a1" in sfcperf.err
    assert sfcperf("compare", "a1", *keep) == 2
    assert "at least two runs" in sfcperf.err
    assert not floor_path().exists()


def test_a_new_set_replaces_sets_of_the_same_runs_and_the_oldest_go(results: Path) -> None:
    stores = [run(results, f"r{number:02d}") for number in range(4)]
    floors = NoiseFloors().with_runs(stores[:2]).with_runs(stores[:3])
    assert [len(one["runs"]) for one in floors.sets] == [3]
    floors = NoiseFloors(floors.sets * MOST_SETS).with_runs([stores[3], run(results, "last")])
    assert len(floors.sets) == MOST_SETS
    assert floors.sets[-1]["runs"][-1]["run_id"] == "last"


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"schema_version": 2, "sets": []}', '{"schema_version": 1, "sets": [{}]}', "NaN"],
)
def test_a_damaged_file_is_said_and_does_not_prevent_a_comparison(
    results: Path, sfcperf: Command, text: str
) -> None:
    with pytest.raises(InputError, match="damaged"):
        read_floors(text, "file")
    run(results, "a1")
    run(results, "a2")
    floor_path().write_text(text)
    assert sfcperf("compare", "a1", "a2", "--results", results) == 0
    assert "noise floor of this machine is damaged" in sfcperf.err
    # What is kept is not overwritten by what could not be read.
    assert sfcperf("compare", "a1", "a2", "--results", results, "--keep-noise-floor") == 2
    assert floor_path().read_text() == text
