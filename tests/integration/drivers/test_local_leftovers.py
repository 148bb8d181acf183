"""What the local driver leaves behind: nothing of its own, everything of others."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.command import spawn
from support.local import left_by, new_driver, small_workflow, traces
from support.records.scenarios import scenario, topology

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import DeploymentError, EnvironmentLacks

pytestmark = pytest.mark.root


def test_what_a_dead_run_left_is_removed_from_its_journal_alone(
    tmp_path: Path, bystander: tuple[str, int]
) -> None:
    dead = new_driver(tmp_path)
    dead.deploy(scenario(["forwarder", "router"], where=topology("T3")))
    outstanding = dead.context.journal.outstanding()
    announced = LocalDriver.undo(outstanding, dry_run=True)
    assert traces(dead.context.tag) != []
    done = LocalDriver.undo(outstanding, dry_run=False)
    assert traces(dead.context.tag) == []
    assert {line for line in announced if "process" not in line} == {
        line for line in done if "process" not in line
    }
    assert LocalDriver.undo(outstanding, dry_run=False) == []
    name, pid = bystander
    assert name in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
    os.kill(pid, 0)


def test_a_deployment_that_fails_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = new_driver(tmp_path)
    chain = scenario(["forwarder"])
    monkeypatch.setenv("SFCPERF_VNF_BIN", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="sfc-sff is missing"):
        driver.deploy(chain)
    assert traces(driver.context.tag) == []
    monkeypatch.delenv("SFCPERF_VNF_BIN")
    driver.teardown(driver.deploy(chain))
    assert traces(driver.context.tag) == []


def test_what_was_there_before_is_not_removed(tmp_path: Path) -> None:
    driver = new_driver(tmp_path)
    name = f"sfcperf-{driver.context.tag}-server"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        with pytest.raises(DeploymentError, match=f"namespace {name} already exists"):
            driver.deploy(scenario(["forwarder"]))
        driver.close()
        assert name in traces(driver.context.tag)
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_an_interrupt_while_deploying_is_met_once(tmp_path: Path) -> None:
    """Ctrl-C reaches the whole foreground process group: nothing forked may unwind our stack."""
    workflow = tmp_path / "interrupted.json"
    chain = {"functions": [{"vnf": "fwd", "count": 4}]}
    long = [{"probe": "ping", "count": 200, "interval_s": 0.01}]
    workflow.write_text(json.dumps(small_workflow(topology="T3", chain=chain, probes=long)))
    run = spawn(
        *("run", workflow, "--results", tmp_path / "results"),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (folders := list((tmp_path / "results").glob("*/run.json"))):
        assert run.poll() is None
        time.sleep(0.005)
    while '"deploying"' not in folders[0].read_text():
        assert run.poll() is None
        time.sleep(0.002)
    time.sleep(random.uniform(0, 0.2))
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert said.count("the run was interrupted") == 1
    folder = folders[0].parent
    assert not (folder / "trials.jsonl").exists()
    assert left_by(folder) == []


def test_the_systems_open_vswitch_is_not_used(tmp_path: Path) -> None:
    system = Path("/run/openvswitch")
    before = sorted(system.iterdir()) if system.exists() else []
    driver = new_driver(tmp_path)
    driver.deploy(scenario([]))
    after = sorted(system.iterdir()) if system.exists() else []
    driver.close()
    assert before == after
