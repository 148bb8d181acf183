"""What README.md of a package tells reviewers: claims, the short replay, hardware and time."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import markdown
import pytest
from support.records.claimed_run import CLAIMS
from support.records.packages import (
    OPTIONS,
    PLAIN,
    contents,
    edited,
    finding,
    finished_run,
    resealed,
)
from support.records.page import Page
from support.records.runs import RunOptions, build_run
from support.workflows.file import load_workflow
from support.workflows.mutations import WORKFLOWS

from sfcperf.package.kit import effort as efforts
from sfcperf.package.kit.effort import effort
from sfcperf.package.pack import pack
from sfcperf.package.readme import readme_text
from sfcperf.package.verify import verify
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import plan_document


def readme(package: Path) -> str:
    return contents(package)["README.md"].decode()


def short_of(package: Path) -> dict[str, Any]:
    document = json.loads(contents(package)["package.json"])
    return dict(document["runs"][0]["effort"]["short"])


def timed(store: RunStore, **phases: float) -> RunStore:
    """The run with these seconds in its phases."""
    store.write_manifest({**store.manifest(), "phases": phases})
    return store


def test_a_claim_has_what_to_expect_and_the_time_to_measure_it_again(claimed: Path) -> None:
    page = Page(markdown.markdown(readme(claimed), extensions=["tables"]))
    words = " ".join(page.content["text"])
    rows = [line for line in readme(claimed).splitlines() if "claims PACKAGE.zip --id" in line]
    assert len(rows) == len(CLAIMS)
    for published, held, verdict in (
        ("200 µs", "between 100 µs and 1 ms", "agrees"),
        ("about 1.5 ms", "above 1 ms", "contradicts"),
        ("nothing", "above 1.5", "undecided"),
    ):
        assert published in words
        (row,) = (row for row in rows if f" | {held} | {verdict}" in row)
        assert "replay PACKAGE.zip --trust --claims" in row
    assert "replay" not in rows[-1], "nothing tests this claim"


def test_a_run_without_claims_has_hardware_and_time(package: Path) -> None:
    text = readme(package)
    assert "## Claims" not in text
    for fact in ("Platinum 8481C", "6.18.5", "Debian GNU/Linux 12", "14.90 GiB"):
        assert fact in text
    assert "| measure it again | 1 | 5 min |" in text


def test_the_short_replay_of_the_readme_is_one(
    package: Path, sfcperf: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    line = next(line for line in readme(package).splitlines() if "design.rounds=1" in line)
    words = shlex.split(line)
    assert words[:5] == ["sudo", "sfcperf", "replay", "PACKAGE.zip", "--trust"]
    assert sfcperf("replay", package, *words[5:]) == 0
    assert "rounds: 1\n" in capsys.readouterr().out


def test_one_round_decides_nothing(
    package: Path, tmp_path: Path, sfcperf: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    here = finished_run(tmp_path / "run-9", replace(PLAIN, rounds=1))
    here.write_manifest({**here.manifest(), "state": "done"})
    assert sfcperf("replay", package, "--trust", "--run", here.folder) == 1
    last = capsys.readouterr().out.splitlines()[-2]
    assert "0 reproduced, 0 not reproduced" in last


def test_the_short_replay_has_the_times_that_were_recorded(tmp_path: Path) -> None:
    # 2 scenarios of 4 trials in 3 rounds, a second each: 1 s is left for each of 6 trial groups.
    store = timed(build_run(tmp_path / "run", PLAIN), measuring=20.0, other=10.0, publishing=7.0)
    trials = store.trials()
    assert len(trials) == 24
    measured_s = sum(trial.duration_s for trial in trials)
    timed(store, measuring=measured_s, other=6.0, publishing=7.0)
    found = effort(store)
    assert found["machine_s"] == round(measured_s) + 13
    assert found["short"]["seconds"] == round(measured_s / 3) + 2 + 7
    assert found["short"]["overrides"] == ["design.rounds=1", "design.warmup_rounds=0"]


def test_a_long_round_is_narrowed_to_the_cheapest_scenario(tmp_path: Path) -> None:
    options = RunOptions(topologies=("T1", "T3"), chain_lengths=(0, 1), failed=frozenset())
    store = finished_run(tmp_path / "run", options)
    measured_s = sum(trial.duration_s for trial in store.trials())
    timed(store, measuring=measured_s, deploying=12 * 70.0)
    short = effort(store)["short"]
    # One trial group of 70 s beside its own trials; the four of a round take 280 s.
    assert short["seconds"] == round(measured_s / 12) + 70
    assert short["overrides"] == [
        "design.rounds=1",
        "design.warmup_rounds=0",
        'factors.topology=["T1"]',
        "factors.chain_length=[0]",
        "figures=[]",
    ]
    text = readme(pack([store], tmp_path / "p.zip", OPTIONS).path)
    assert f"takes about {short['seconds']} s" in " ".join(text.split())


def test_it_says_when_even_that_takes_longer(tmp_path: Path) -> None:
    store = finished_run(tmp_path / "run", PLAIN)
    timed(store, deploying=6 * 1000.0)
    text = readme(pack([store], tmp_path / "p.zip", OPTIONS).path)
    assert "more than 5 minutes" in text


def test_several_runs_are_named_in_their_commands(package: Path, tmp_path: Path) -> None:
    second = finished_run(tmp_path / "run-2", PLAIN)
    second.write_manifest({**second.manifest(), "run_id": "run-2"})
    first = RunStore.open(package.parent / "run-1")
    made = pack([first, RunStore.open(second.folder)], tmp_path / "p.zip", OPTIONS).path
    text = readme(made)
    assert "--trust --only run-1 --set design.rounds=1" in text
    assert "| measure it again (run-2) |" in text


def test_a_run_that_measured_nothing_has_no_short_replay(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", RunOptions(status="interrupted", trials=0))
    assert effort(store)["short"] is None


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("machine", {"cpu": "a faster one"}),
        ("effort", {"machine_s": 1}),
        ("effort", {"short": {"overrides": ["vnfs={}"], "seconds": 1}}),
    ],
)
def test_what_package_json_says_of_machine_and_time_is_that_of_the_run(
    package: Path, tmp_path: Path, key: str, changes: dict[str, Any]
) -> None:
    files = contents(package)
    document = json.loads(
        edited(files["package.json"], lambda d: d["runs"][0][key].update(changes))
    )
    new = {
        "package.json": json.dumps(document).encode(),
        "README.md": readme_text(document).encode(),
    }
    path = resealed(package, tmp_path / "p.zip", new)
    assert f"package.json/runs/0/{key}" in finding(verify(path), "agreement")


@pytest.mark.parametrize("file", sorted(WORKFLOWS.glob("*.json")), ids=lambda file: file.stem)
def test_each_shipped_workflow_has_a_short_replay(file: Path) -> None:
    """Narrowed to the cheapest scenario, if each has taken long."""
    workflow = load_workflow(file)
    scenarios = [
        {"id": each["id"], "levels": each["scenario"]}
        for each in plan_document(workflow)["scenarios"]
    ]
    groups = {each["id"]: 250.0 + number for number, each in enumerate(scenarios)}
    short = efforts._short(workflow.document, scenarios, groups, 0.0)
    assert short is not None
    again = load_document(workflow.document, workflow.folder, overrides=short["overrides"])
    assert len(again.scenarios) == max(1, len(workflow.variants))
    assert (again.design.rounds, again.design.warmup_rounds) == (1, 0)
    assert again.design.stop_when is None
    assert short["seconds"] == sum(
        groups[each["id"]]
        for each in scenarios
        if any(each["levels"] == {**new.levels} for new in again.scenarios)
    )
