"""Several runs of one workflow: `sfcperf run --repeat`, its resume, and what follows from it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support.command import Command
from support.engine import SMALL, Bench, faulty
from support.schemas import validator

from sfcperf.cli.noise_floor import floor_path
from sfcperf.control import run as control
from sfcperf.control.interrupts import Interrupted
from sfcperf.errors import DeploymentError, EnvironmentLacks, InterruptedRun
from sfcperf.results.store import RunStore


def runs(bench: Bench) -> list[RunStore]:
    """By number."""
    found = [RunStore.open(folder) for folder in bench.results.iterdir()]
    return sorted(found, key=lambda store: store.manifest()["repeat"]["index"])


def test_runs_of_a_campaign_are_independent_and_belong_together(
    bench: Bench, sfcperf: Command
) -> None:
    assert sfcperf("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 3) == 0
    found = runs(bench)
    repeats = [store.manifest()["repeat"] for store in found]
    assert [one["index"] for one in repeats] == [1, 2, 3]
    assert {one["of"] for one in repeats} == {3}
    (campaign,) = {one["campaign"] for one in repeats}
    seeds = [store.manifest()["seed"] for store in found]
    assert seeds[0] == 1
    assert len(set(seeds)) == 3
    for store, seed in zip(found, seeds, strict=True):
        assert store.manifest()["status"] == "complete"
        assert store.workflow()[0]["design"].get("seed", 1) == seed
        validator("run").validate(json.loads((store.folder / "run.json").read_text()))
    out, err = sfcperf.out, sfcperf.err
    assert f"campaign {campaign}: 3 of 3 runs complete" in out
    assert f"next: `sfcperf compare {campaign} OTHER --results {bench.results}`" in out
    assert f"run 2 of 3 of the campaign {campaign}" in err
    assert bench.leftovers() == []
    assert sfcperf("runs", "--results", bench.results) == 0
    listed = sfcperf.out
    assert f"campaign {campaign}: 3 runs" in listed
    assert all(f" {number}/3" in listed for number in (1, 2, 3))


def test_the_workflow_may_say_how_many_and_the_option_overrides_it(
    bench: Bench, sfcperf: Command
) -> None:
    workflow = bench.write(**{**SMALL, "design": {"rounds": 1, "runs": 2}})
    assert sfcperf("run", workflow, "--results", bench.results, "-q") == 0
    assert len(list(bench.results.iterdir())) == 2
    assert sfcperf("run", workflow, "--results", bench.results, "-q", "--repeat", 1) == 0
    assert len(list(bench.results.iterdir())) == 3


def test_plan_shows_all_runs(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("plan", bench.write(**SMALL), "--repeat", 4) == 0
    out = sfcperf.out
    assert re.search(r"4 runs of that, .*: 16 trials, about \d+ ", out)
    assert sfcperf("run", bench.write(**SMALL), "--dry-run", "--repeat", 4) == 0
    assert "16 trials" in sfcperf.out
    for number in ("0", "100", "many"):
        assert sfcperf("run", bench.write(**SMALL), "--repeat", number) == 2
    assert list(bench.results.iterdir()) == []


def interrupt_in_run(
    monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException, *, after: bool = True
) -> None:
    """Instead of a signal, which would end the test: what the engine raises after one."""
    begin, begun = control.start, []

    def start(*arguments: object, **options: object) -> object:
        begun.append(1)
        if len(begun) == number and not after:
            raise error
        outcome = begin(*arguments, **options)  # type: ignore[arg-type]
        if len(begun) == number:
            manifest = outcome.store.manifest()
            outcome.store.write_manifest({**manifest, "status": "interrupted"})
            raise error
        return outcome

    monkeypatch.setattr(control, "start", start)


def test_an_interrupt_stops_the_rest_and_resume_continues_the_campaign(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 3)
    with monkeypatch.context() as patch:
        interrupt_in_run(patch, 2, InterruptedRun("the run was interrupted by SIGINT"))
        assert sfcperf(*argv) == 130
    err = sfcperf.err
    campaign = runs(bench)[0].manifest()["repeat"]["campaign"]
    assert len(runs(bench)) == 2
    assert f"campaign {campaign}: 1 of 3 runs complete" in err
    assert f"next: `sfcperf resume {bench.results / campaign}` continues it" in err
    assert not floor_path().exists()
    monkeypatch.setattr("sys.argv", ["sfcperf", "resume", campaign])
    assert sfcperf("resume", bench.results / campaign) == 0
    assert [store.manifest()["status"] for store in runs(bench)] == ["complete"] * 3
    assert len({store.manifest()["seed"] for store in runs(bench)}) == 3
    # What is recorded is what made the workflow, also for the run that the resume began.
    assert len({tuple(store.manifest()["command"]) for store in runs(bench)}) == 1
    assert "3 of 3 runs complete" in sfcperf.out
    assert floor_path().exists()
    assert sfcperf("resume", bench.results / campaign) == 2
    assert "nothing to resume" in sfcperf.err


@pytest.mark.parametrize(
    ("error", "code", "measured"),
    [
        (Interrupted("SIGTERM"), 130, [1]),
        (DeploymentError("no chain"), 4, [1, 3]),
        (EnvironmentLacks("no tool"), 3, [1]),
    ],
    ids=["signal", "failure", "would fail all"],
)
def test_a_run_that_fails_does_not_prevent_the_next_unless_it_would_fail_all(
    bench: Bench,
    sfcperf: Command,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    measured: list[int],
) -> None:
    """The worst code counts, and what exists is told."""
    interrupt_in_run(monkeypatch, 2, error, after=False)
    argv = ("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 3)
    assert sfcperf(*argv) == code
    assert [store.manifest()["repeat"]["index"] for store in runs(bench)] == measured
    said = sfcperf.out + sfcperf.err
    assert f"{len(measured)} of 3 runs complete" in said
    assert "sfcperf resume" in said


def test_a_resumed_run_that_fails_does_not_prevent_the_next_either(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 3)
    with monkeypatch.context() as patch:
        interrupt_in_run(patch, 2, InterruptedRun("the run was interrupted by SIGINT"))
        assert sfcperf(*argv) == 130
    campaign = runs(bench)[0].manifest()["repeat"]["campaign"]

    def fail(*_: object, **__: object) -> object:
        raise DeploymentError("no chain")

    monkeypatch.setattr(control, "resume", fail)
    assert sfcperf("resume", bench.results / campaign) == 4
    assert [store.manifest()["repeat"]["index"] for store in runs(bench)] == [1, 2, 3]
    assert "no chain" in sfcperf.err
    assert "2 of 3 runs complete" in sfcperf.out


def test_untrusted_trials_of_a_run_are_the_campaigns_exit_code(
    bench: Bench, sfcperf: Command
) -> None:
    path = bench.write(probes=[faulty(attempt1="untrusted")], design={"rounds": 1})
    assert sfcperf("run", path, "--results", bench.results, "-q", "--repeat", 2) == 1
    assert len(runs(bench)) == 2


def test_campaigns_are_sides_and_a_single_one_has_its_variants(
    bench: Bench, sfcperf: Command
) -> None:
    path = bench.write(**SMALL)
    campaigns = []
    for _ in range(2):
        assert sfcperf("run", path, "--results", bench.results, "--repeat", 2) == 0
        campaigns += re.findall(r"campaign (repeat-\S+):", sfcperf.out)
    first, second = dict.fromkeys(campaigns)
    assert f"next: `sfcperf compare {first} {second} --results {bench.results}`" in sfcperf.out
    assert sfcperf("compare", first, second, "--results", bench.results, "--json", "-") == 0
    document = json.loads(sfcperf.out)
    validator("comparison").validate(document)
    assert len(document["baseline"]["runs"]) == 2
    assert {row["test"] for row in document["rows"]} == {"Welch and Cochran-Cox t of runs"}
    assert sfcperf("compare", first, "--results", bench.results) == 2
    assert "runs of one side without variants" in sfcperf.err
    known = bench.results / document["baseline"]["run_id"]
    assert sfcperf("compare", first, known, "--results", bench.results) == 2
    assert "named twice" in sfcperf.err
    assert sfcperf("compare", "repeat-nothing", second, "--results", bench.results) == 2
    assert "no run of this campaign" in sfcperf.err


def test_runs_of_a_campaign_are_packed_with_it_and_a_copy_is_not_counted_twice(
    bench: Bench, sfcperf: Command
) -> None:
    assert sfcperf("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 2) == 0
    stores = runs(bench)
    package = bench.results.parent / "campaign.zip"
    folders = [store.folder for store in stores]
    assert sfcperf("pack", *folders, "-o", package, "--allow-incomplete") == 0
    sfcperf("verify", package)
    assert "agreement:  ok" in sfcperf.out
    campaign = stores[0].manifest()["repeat"]["campaign"]
    shutil.copytree(folders[0], Path(f"{folders[0]}-copy"))
    assert sfcperf("resume", bench.results / campaign) == 2
    assert "is run 1 of this campaign, too" in sfcperf.err
