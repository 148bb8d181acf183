"""Runs of the `sfcperf` command by each life cycle: chained, crossed, measured, nothing left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import PLANNED, CloudLab, workflow

pytestmark = [pytest.mark.server, pytest.mark.exhaustive]

CHAINED_BY = {
    "nova": "networking-sfc",
    "heat": "networking-sfc, by heat",
    "tacker": "networking-sfc, by a VNFFG of Tacker",
}


@pytest.fixture(params=["heat", "tacker"])
def lifecycle(request: pytest.FixtureRequest) -> str:
    """The third, nova, is what all other tests use."""
    return str(request.param)


@pytest.fixture
def lab(cloud: Connection, lifecycle: str, tmp_path: Path, leftovers: None) -> Iterator[CloudLab]:
    lab = CloudLab(tmp_path, workflow(cloud.config.name, lifecycle=lifecycle))
    yield lab
    lab.close()


def deployments(lab: CloudLab) -> list[dict[str, Any]]:
    """Of each trial."""
    lines = (lab.run_folder / "trials.jsonl").read_text().splitlines()
    return [json.loads(line)["deployment"] for line in lines]


def test_a_chain_is_measured(lab: CloudLab, lifecycle: str) -> None:
    """As an ordinary user of the project. Two scenarios: another chain through the same VMs."""
    assert lab.run() == 0, lab.said
    assert lab.trials == [(trial, "valid") for trial in PLANNED]
    stood = deployments(lab)
    assert all(each["traversal"]["proven"] for each in stood)
    chains = [each["facts"]["chain"] for each in stood]
    assert [chain["chained_by"] for chain in chains] == [CHAINED_BY[lifecycle]] * 2
    assert ("vnffg" in chains[0]) is (lifecycle == "tacker")
    assert chains[0]["chain"] != chains[1]["chain"]
    machines = [{m["server"] for m in each["facts"]["machines"].values()} for each in stood]
    assert machines[0] == machines[1]
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
