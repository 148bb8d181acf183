"""A run of the `sfcperf` command by Tacker: chained, crossed, measured, nothing left. All other
tests use nova."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import PLANNED, CloudLab, workflow

pytestmark = [pytest.mark.server, pytest.mark.exhaustive]


@pytest.fixture
def lab(cloud: Connection, tmp_path: Path, leftovers: None) -> Iterator[CloudLab]:
    lab = CloudLab(tmp_path, workflow(cloud.config.name, lifecycle="tacker"))
    yield lab
    lab.close()


def deployments(lab: CloudLab) -> list[dict[str, Any]]:
    """Of each trial."""
    lines = (lab.run_folder / "trials.jsonl").read_text().splitlines()
    return [json.loads(line)["deployment"] for line in lines]


def test_a_chain_is_measured(lab: CloudLab) -> None:
    """As an ordinary user of the project. Two scenarios: another chain through the same VMs."""
    assert lab.run() == 0, lab.said
    assert lab.trials == [(trial, "valid") for trial in PLANNED]
    stood = deployments(lab)
    assert all(each["traversal"]["proven"] for each in stood)
    chains = [each["facts"]["chain"] for each in stood]
    assert [chain["chained_by"] for chain in chains] == ["networking-sfc, by a VNFFG of Tacker"] * 2
    assert "vnffg" in chains[0]
    assert chains[0]["chain"] != chains[1]["chain"]
    machines = [{m["server"] for m in each["facts"]["machines"].values()} for each in stood]
    assert machines[0] == machines[1]
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
