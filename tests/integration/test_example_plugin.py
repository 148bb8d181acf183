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


def test_it_is_listed_with_the_words_of_its_schema(installed: Path) -> None:
    listed = sfcperf(installed, "list").stdout
    assert all(name in listed for name in ("tcp-connect", "veth-pair", "spread"))
    shown = sfcperf(installed, "show", "probe", "tcp-connect").stdout
    assert "connections" in shown and "Connections per trial." in shown


def test_its_parameters_are_part_of_the_workflow_schema(installed: Path, tmp_path: Path) -> None:
    document = json.loads(WORKFLOW.read_text())
    document["probes"][0]["conections"] = 3
    document["analyses"][0]["limit"] = 0.5
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(document))
    said = sfcperf(installed, "validate", str(wrong), status=2).stderr
    assert "/probes/0" in said and "conections" in said
    assert "/analyses/0/limit" in said
    assert "Traceback" not in said


def test_its_driver_refuses_what_it_cannot_build(installed: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    words = ("run", "quickstart", "--driver", "veth-pair", "--results", str(results))
    assert "/chain/functions" in sfcperf(installed, *words, status=2).stderr
    assert not results.exists() or not list(results.iterdir())


@pytest.mark.root
def test_it_runs(installed: Path, tmp_path: Path, state_dir: Path) -> None:
    done = sfcperf(installed, "run", str(WORKFLOW), "--results", str(tmp_path), "--quiet")
    run = Path(done.stdout.strip())
    trials = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert [(trial["probe"], trial["status"]) for trial in trials] == [("tcp-connect", "valid")] * 2
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
