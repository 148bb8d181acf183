"""What the local driver leaves behind: nothing of its own, everything of others."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local import new_driver, traces
from support.scenarios import scenario, topology

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import DeploymentError

pytestmark = pytest.mark.root


@pytest.fixture
def bystander() -> Iterator[tuple[str, int]]:
    """A namespace and a process that are not ours, with a name that looks a little like it."""
    name = f"sfcperfish-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    process = subprocess.Popen(["ip", "netns", "exec", name, "sleep", "60"])
    yield name, process.pid
    process.kill()
    process.wait()
    subprocess.run(["ip", "netns", "del", name], check=True)


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    first, second = new_driver(tmp_path), new_driver(tmp_path)
    chain = scenario(["forwarder"], where=topology("T2"))
    one, two = first.deploy(chain), second.deploy(chain)
    first.teardown(one)
    assert traces(first.context.tag) == []
    assert second.prove_traversal(two, chain).proven
    second.close()
    assert traces(second.context.tag) == []


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


def test_a_deployment_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    driver = new_driver(tmp_path)
    chain = scenario(["forwarder"])
    # In the way: a namespace that the driver is going to make.
    name = f"sfcperf-{driver.context.tag}-server"
    subprocess.run(["ip", "netns", "add", name], check=True)
    with pytest.raises(DeploymentError, match="server cannot be made"):
        driver.deploy(chain)
    assert traces(driver.context.tag) == []
    driver.teardown(driver.deploy(chain))
    assert traces(driver.context.tag) == []


def test_the_systems_open_vswitch_is_not_used(tmp_path: Path) -> None:
    system = Path("/run/openvswitch")
    before = sorted(system.iterdir()) if system.exists() else []
    driver = new_driver(tmp_path)
    driver.deploy(scenario([]))
    after = sorted(system.iterdir()) if system.exists() else []
    driver.close()
    assert before == after
