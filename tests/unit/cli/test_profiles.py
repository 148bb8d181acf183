"""`--profile` and `--driver` of the verbs, on the fakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.engine import SMALL, Bench

from sfcperf.control.state import FurtherDriver, RunInfo, StateDir
from sfcperf.drivers.base import Resource


@pytest.fixture
def elsewhere(bench: Bench, tmp_path: Path) -> Path:
    """A profile for the fake driver, with a folder that is not the workflow's."""
    (tmp_path / "elsewhere").mkdir()
    config = {"folder": str(tmp_path / "elsewhere"), "deploy_s": 0.001}
    return profile(tmp_path, driver="fake", config=config)


def profile(folder: Path, **content: Any) -> Path:
    file = folder / "profile.json"
    file.write_text(json.dumps(content))
    return file


def test_a_run_goes_where_the_profile_says(bench: Bench, sfcperf: Command, elsewhere: Path) -> None:
    workflow = bench.write(**SMALL)
    given = json.loads(workflow.read_text())
    options = ("--results", bench.results, "--quiet", "--profile", elsewhere)
    assert sfcperf("run", workflow, *options) == 0
    kept = {
        name: json.loads((bench.folder() / name).read_text())
        for name in ("workflow.json", "workflow.applied.json", "run.json")
    }
    assert kept["workflow.json"] == given
    asked = json.loads(elsewhere.read_text())
    assert kept["workflow.applied.json"]["infrastructure"] == asked
    assert {**given, "infrastructure": asked} == kept["workflow.applied.json"]
    assert str(elsewhere) in kept["run.json"]["sessions"][0]["command"]
    # The profile is not needed any more.
    elsewhere.unlink()
    assert sfcperf("report", bench.folder()) == 0


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_other_verbs_take_it_too(bench: Bench, sfcperf: Command, tmp_path: Path, verb: str) -> None:
    workflow = bench.write(**SMALL)
    wrong = profile(tmp_path, driver="fake", config={"folder": "x", "deploy": 1})
    assert sfcperf(verb, workflow) == 0
    assert sfcperf(verb, workflow, "--profile", wrong) == 2
    said = sfcperf.err
    assert said.startswith(f"{wrong} /config/deploy: the key 'deploy' is not known here")
    assert "did you mean 'deploy_s'?" in said


def test_a_profile_that_is_not_there(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("validate", bench.write(), "--profile", "nowhere") == 2
    said = sfcperf.err
    assert "no shipped profile has this name" in said
    assert "local, openstack" in said
    assert sfcperf("validate", bench.write(), "--profile", "no/where.json") == 2
    assert "no/where.json: the profile file cannot be read" in sfcperf.err


def test_a_shipped_profile_by_its_name(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("validate", "quickstart", "--profile", "local") == 0


def test_doctor_checks_with_the_configuration(
    bench: Bench, sfcperf: Command, tmp_path: Path
) -> None:
    """The fake driver lacks what its configuration says that it lacks."""
    lacking = profile(tmp_path, driver="fake", config={"folder": "x", "missing": True})
    assert sfcperf("doctor", "--profile", lacking) == 3
    assert "fake-tool: install fakes" in sfcperf.out
    sfcperf("doctor", "--profile", lacking, "--set", "infrastructure.config.missing=false")
    assert "fake-tool: install fakes" not in sfcperf.out
    setting = ("--set", "infrastructure.config.folder=x")
    sfcperf("doctor", "--driver", "fake", *setting, "--set", "infrastructure.config.missing=true")
    assert "fake-tool: install fakes" in sfcperf.out
    assert sfcperf("doctor", "--driver", "fake", "--set", "design.rounds=3") == 2
    assert "--set design.rounds=3: without a workflow" in sfcperf.err
    assert (
        sfcperf("doctor", "--driver", "fake", *setting, "--set", "infrastructure.config.x=1") == 2
    )
    assert "/infrastructure/config/x" in sfcperf.err


class TestCleanOfOneDriver:
    @pytest.fixture
    def dead(self, bench: Bench) -> dict[str, str]:
        """Name of a file that a dead run left -> id of the run: of the fake driver, of one that is
        not installed, and of both."""
        runs = {}
        for name, drivers in {"own": ["fake"], "other": ["lab"], "both": ["lab", "fake"]}.items():
            state, run_id, tag = StateDir().create("w")
            further = tuple(FurtherDriver("other1", driver, {}) for driver in drivers[1:])
            state.write_info(RunInfo(run_id, tag, drivers[0], {}, "/nowhere", 1, further))
            file = bench.resources / name
            state.journal().of(len(drivers) - 1).intend([Resource("file", str(file))])
            file.touch()
            state.release()
            runs[name] = run_id
        return runs

    def test_only_its_runs_are_undone(
        self, bench: Bench, sfcperf: Command, dead: dict[str, str]
    ) -> None:
        assert sfcperf("clean", "--driver", "fake", "--dry-run") == 0
        said = sfcperf.out
        assert dead["own"] in said and dead["both"] in said and dead["other"] not in said
        assert sfcperf("clean", "--driver", "fake") == 0
        assert [file.name for file in bench.resources.iterdir()] == ["other"]
        assert StateDir().run_ids() == [dead["other"]]

    def test_a_damaged_run_is_told(
        self, bench: Bench, sfcperf: Command, dead: dict[str, str]
    ) -> None:
        (bench.state / "runs" / dead["other"] / "run.json").write_text("?")
        assert sfcperf("clean", "--driver", "fake") == 3
        assert dead["other"] in sfcperf.err
        assert [file.name for file in bench.resources.iterdir()] == ["other"]

    def test_a_driver_that_is_gone_can_be_named_and_one_that_nobody_has_cannot(
        self, sfcperf: Command, dead: dict[str, str]
    ) -> None:
        """Its runs cannot be undone, and that is said."""
        assert sfcperf("clean", "--driver", "lab") == 3
        assert "no driver named 'lab'" in sfcperf.err
        assert dead["own"] not in sfcperf.err + sfcperf.out
        assert sfcperf("clean", "--driver", "fkae") == 2
        assert "allowed: " in sfcperf.err
