"""A third party adds a probe, a driver and an analysis from its own package (tests/examples)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from support import example_plugin
from support.command import SFCPERF
from support.ended import ended
from support.example_plugin import WORKFLOW, leftovers


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example_plugin.installed(tmp_path_factory.mktemp("example"))


def sfcperf(installed: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command with the example on its path; it must end with `status`."""
    done = ended(
        [SFCPERF, *arguments],
        timeout_s=120,
        environment={**os.environ, "PYTHONPATH": str(installed)},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    ("kind", "name"), [("probes", "tcp-connect"), ("drivers", "veth-pair"), ("analyses", "spread")]
)
def test_it_is_listed(installed: Path, kind: str, name: str) -> None:
    assert name in sfcperf(installed, "list", kind).stdout


@pytest.mark.exhaustive
def test_it_is_not_there_without_its_package(tmp_path: Path) -> None:
    assert "tcp-connect" not in sfcperf(tmp_path, "list", "probes").stdout
    refused = sfcperf(tmp_path, "validate", str(WORKFLOW), status=2)
    assert "veth-pair" in refused.stderr


def test_its_documentation_comes_from_its_schema(installed: Path) -> None:
    shown = sfcperf(installed, "show", "probe", "tcp-connect").stdout
    assert "connections" in shown
    assert "Connections per trial." in shown


def refused(installed: Path, folder: Path, section: str, parameter: str, value: float) -> str:
    """What is said of the workflow with this value."""
    document = json.loads(WORKFLOW.read_text())
    document[section][0][parameter] = value
    wrong = folder / "wrong.json"
    wrong.write_text(json.dumps(document))
    return sfcperf(installed, "validate", str(wrong), status=2).stderr


def test_its_parameters_are_part_of_the_workflow_schema(installed: Path, tmp_path: Path) -> None:
    sfcperf(installed, "validate", str(WORKFLOW))
    said = refused(installed, tmp_path, "probes", "conections", 3)
    assert "/probes/0" in said
    assert "conections" in said
    assert "Traceback" not in said


def test_its_analysis_is_checked_too(installed: Path, tmp_path: Path) -> None:
    said = refused(installed, tmp_path, "analyses", "limit", 0.5)
    assert "/analyses/0/limit" in said


def test_its_driver_refuses_what_it_cannot_build(installed: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    refused = sfcperf(
        installed,
        *("run", "quickstart", "--driver", "veth-pair", "--results", str(results)),
        status=2,
    )
    assert "/chain/functions" in refused.stderr
    assert not results.exists() or not list(results.iterdir())


@pytest.mark.root
def test_it_runs(installed: Path, tmp_path: Path, state_dir: Path) -> None:
    done = sfcperf(installed, "run", str(WORKFLOW), "--results", str(tmp_path), "--quiet")
    run = Path(done.stdout.strip())
    trials = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert [trial["status"] for trial in trials] == ["valid", "valid"]
    assert all(trial["probe"] == "tcp-connect" for trial in trials)
    for trial in trials:
        times = [s["value"] for s in trial["samples"] if s["metric"] == "connect_time_us"]
        assert len(times) == 10
        assert all(0 < time < 5e6 for time in times)

    spread = json.loads((run / "spread.json").read_text())
    assert spread["limit"] == 2
    times_us = [row for row in spread["rows"] if row["metric"] == "connect_time_us"]
    assert len(times_us) == 1 and times_us[0]["ratio"] >= 1

    summaries = json.loads((run / "summary.json").read_text())["summaries"]
    assert any(row["metric"] == "connect_time_us" and row["n"] == 2 for row in summaries)

    assert leftovers(tmp_path) == []
    assert list((state_dir / "runs").glob("*")) == []
