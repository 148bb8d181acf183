"""Machines that are lost: the run's process is killed, SSH breaks or is silent, a machine restarts.
Each machine undoes by itself what was built there, and the run goes on."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local import ListJournal
from support.network import lab
from support.network.lab import UNDONE_S, as_it_was, left
from support.records.scenarios import scenario, topology

from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.conformance.deploying_process import Task
from sfcperf.drivers.conformance.driver_run import RunFolders
from sfcperf.drivers.machines.driver import MachinesDriver
from sfcperf.errors import SfcperfError
from sfcperf.playbooks.lab.namespaces import NamespaceLab
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root
CHAIN = scenario(["forwarder"], where=topology("T3"))

SLOW = ("silent", "restarted")
BEAT_S = 5.0
"""The last sign of life came so long before the silence, at most."""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NamespaceLab]:
    if reason := lab.lacking():
        pytest.skip(reason)
    with lab.namespace_lab(tmp_path_factory.mktemp("lab")) as made:
        yield made


def new_driver(machines: NamespaceLab, folder: Path, tag: str) -> MachinesDriver:
    config = with_defaults(MachinesDriver.parameters, lab.config(machines))
    return MachinesDriver(DriverContext("t", tag, config, ListJournal(), folder, folder, print))


def test_what_a_killed_run_left_is_undone_by_the_machines(
    machines: NamespaceLab, tmp_path: Path
) -> None:
    config = with_defaults(MachinesDriver.parameters, lab.config(machines))
    folders = RunFolders(MachinesDriver, config)
    task = tmp_path / "task"
    task.write_bytes(pickle.dumps(Task(folders, CHAIN, dies_when_intended=False)))
    process = subprocess.Popen(
        [sys.executable, "-m", "sfcperf.drivers.conformance.deploying_process", str(task)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout is not None
    try:
        assert [process.stdout.readline() for _ in range(2)] == [b"deploying\n", b"deployed\n"]
        assert "node2: wire0 has changed" in left(machines, folders.tag)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert as_it_was(machines, folders.tag), left(machines, folders.tag)
    folders.remove()


@pytest.mark.parametrize(
    "loss", ["cut", *(pytest.param(loss, marks=pytest.mark.exhaustive) for loss in SLOW)]
)
def test_a_run_goes_on_after_a_machine_was_lost(
    machines: NamespaceLab, tmp_path: Path, loss: str
) -> None:
    tag = f"lost-{loss}"
    driver = new_driver(machines, tmp_path, tag)
    deployment = driver.deploy(CHAIN)
    assert driver.prove_traversal(deployment, CHAIN).proven
    try:
        if loss == "cut":
            machines.cut("node2")
        elif loss == "silent":
            with machines.silent("node2"):
                begin = time.monotonic()
                assert as_it_was(machines, tag, "node2", within_s=60), left(machines, tag)
                assert time.monotonic() - begin < UNDONE_S + BEAT_S
        else:
            machines.stop("node2")
            machines.start("node2")
            lab.cards_of_their_own(machines, "node2")
        with pytest.raises(SfcperfError):
            driver.prove_traversal(deployment, CHAIN)
        driver.teardown(deployment)
        again = driver.deploy(CHAIN)
        assert driver.prove_traversal(again, CHAIN).proven
        assert driver.problems(again) == []
    finally:
        driver.close()
    assert as_it_was(machines, tag), left(machines, tag)
