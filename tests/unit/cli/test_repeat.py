"""Several runs of one workflow: `sfcperf run --repeat`, its resume, and what follows from it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.engine import SMALL, Bench
from support.schemas import validator

from sfcperf.cli.noise_floor import floor_path
from sfcperf.control.interrupts import Interrupted
from sfcperf.errors import DeploymentError, EnvironmentLacks, InterruptedRun
from sfcperf.results.store import RunStore

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]


def runs(bench: Bench) -> list[RunStore]:
    """By number."""
    found = [RunStore.open(folder) for folder in bench.results.iterdir()]
    return sorted(found, key=lambda store: store.manifest()["repeat"]["index"])


def test_runs_of_a_campaign_are_independent_and_belong_together(
    bench: Bench, sfcperf: Command, capsys: Capture
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
    out, err = capsys.readouterr()
    assert f"campaign {campaign}: 3 of 3 runs complete" in out
    assert f"next: `sfcperf compare {campaign} OTHER --results {bench.results}`" in out
    assert f"run 2 of 3 of the campaign {campaign}" in err
    assert bench.leftovers() == []
    assert sfcperf("runs", "--results", bench.results) == 0
    listed = capsys.readouterr().out
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


def test_plan_shows_all_runs(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("plan", bench.write(**SMALL), "--repeat", 4) == 0
    out = capsys.readouterr().out
    assert re.search(r"4 runs of that, .*: 16 trials, about \d+ ", out)
    assert sfcperf("run", bench.write(**SMALL), "--dry-run", "--repeat", 4) == 0
    assert "16 trials" in capsys.readouterr().out
    assert list(bench.results.iterdir()) == []


@pytest.mark.parametrize("number", ["0", "100", "many"])
def test_a_number_of_runs_out_of_range_is_2(bench: Bench, sfcperf: Command, number: str) -> None:
    assert sfcperf("run", bench.write(**SMALL), "--repeat", number) == 2


def interrupt_in_run(
    monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException, *, after: bool = True
) -> None:
    """Instead of a signal, which would end the test: what the engine raises after one."""
    from sfcperf.control import run as control

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
    bench: Bench, sfcperf: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 3)
    with monkeypatch.context() as patch:
        interrupt_in_run(patch, 2, InterruptedRun("the run was interrupted by SIGINT"))
        assert sfcperf(*argv) == 130
    err = capsys.readouterr().err
    campaign = runs(bench)[0].manifest()["repeat"]["campaign"]
    assert len(runs(bench)) == 2
    assert f"campaign {campaign}: 1 of 3 runs complete" in err
    assert f"next: `sfcperf resume {bench.results / campaign}` continues it" in err
    assert not floor_path().exists()
    assert sfcperf("resume", bench.results / campaign) == 0
    assert [store.manifest()["status"] for store in runs(bench)] == ["complete"] * 3
    assert len({store.manifest()["seed"] for store in runs(bench)}) == 3
    assert "3 of 3 runs complete" in capsys.readouterr().out
    assert floor_path().exists()
    assert sfcperf("resume", bench.results / campaign) == 2
    assert "nothing to resume" in capsys.readouterr().err


def test_a_signal_between_two_runs_tells_what_exists(
    bench: Bench, sfcperf: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_in_run(monkeypatch, 2, Interrupted("SIGTERM"), after=False)
    argv = ("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 2, "-q")
    assert sfcperf(*argv) == 130
    assert "1 of 2 runs complete" in capsys.readouterr().err


def test_a_run_that_fails_does_not_prevent_the_next_and_the_worst_code_counts(
    bench: Bench, sfcperf: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_in_run(monkeypatch, 2, DeploymentError("no chain"), after=False)
    argv = ("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 3)
    assert sfcperf(*argv) == 4
    out, err = capsys.readouterr()
    assert "no chain" in err
    assert [store.manifest()["repeat"]["index"] for store in runs(bench)] == [1, 3]
    assert "2 of 3 runs complete" in out
    assert "sfcperf resume" in out


def test_what_would_fail_all_runs_stops_the_campaign(
    bench: Bench, sfcperf: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_in_run(monkeypatch, 2, EnvironmentLacks("no tool"), after=False)
    argv = ("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 4)
    assert sfcperf(*argv) == 3
    assert len(runs(bench)) == 1
    assert "1 of 4 runs complete" in capsys.readouterr().err


def test_untrusted_trials_of_a_run_are_the_campaigns_exit_code(
    bench: Bench, sfcperf: Command
) -> None:
    script = {"r001-s001-a/attempt-1": "untrusted"}
    path = bench.write(
        probes=[{"probe": "fake", "name": "a", "script": script}], design={"rounds": 1}
    )
    assert sfcperf("run", path, "--results", bench.results, "-q", "--repeat", 2) == 1
    assert len(runs(bench)) == 2


def test_campaigns_are_sides_and_a_single_one_has_its_variants(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    path = bench.write(**SMALL)
    for _ in range(2):
        assert sfcperf("run", path, "--results", bench.results, "--repeat", 2) == 0
    out = capsys.readouterr().out
    first, second = dict.fromkeys(re.findall(r"campaign (repeat-\S+):", out))
    assert f"next: `sfcperf compare {first} {second} --results {bench.results}`" in out
    assert sfcperf("compare", first, second, "--results", bench.results, "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    validator("comparison").validate(document)
    assert len(document["baseline"]["runs"]) == 2
    assert {row["test"] for row in document["rows"]} == {"Welch and Cochran-Cox t of runs"}
    assert sfcperf("compare", first, "--results", bench.results) == 2
    assert "runs of one side without variants" in capsys.readouterr().err
    known = bench.results / document["baseline"]["run_id"]
    assert sfcperf("compare", first, known, "--results", bench.results) == 2
    assert "named twice" in capsys.readouterr().err
    assert sfcperf("compare", "repeat-nothing", second, "--results", bench.results) == 2
    assert "no run of this campaign" in capsys.readouterr().err


def test_a_copied_run_is_not_counted_twice(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("run", bench.write(**SMALL), "--results", bench.results, "--repeat", 2) == 0
    first = runs(bench)[0]
    campaign = first.manifest()["repeat"]["campaign"]
    shutil.copytree(first.folder, Path(f"{first.folder}-copy"))
    assert sfcperf("resume", bench.results / campaign) == 2
    assert "is run 1 of this campaign, too" in capsys.readouterr().err
