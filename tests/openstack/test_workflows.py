"""The shipped workflows, unchanged, on namespaces and on the cloud: one format, one comparison.

An emulated cloud on two cores drops a datagram now and then, or lets a tool come short of CPU: such
trials are untrusted, and are so on record. What may not be is a trial that failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.cloud.cloud_runs import CloudLab

pytestmark = [pytest.mark.server, pytest.mark.root]

PROFILES = ("local", "openstack")
EXAMPLE = Path(__file__).parents[2] / "examples" / "nftables-rules" / "firewall.json"
SHORT = ("--set", "preset=short", "--set", "design.rounds=2")


def run(lab: CloudLab, workflow: str, profile: str, changes: Sequence[str] = SHORT) -> Path:
    """Folder of a run of a shipped workflow, or of a file."""
    results = lab.folder / profile
    asked = ("run", workflow, "--profile", profile, *changes, "--results", str(results))
    exit_code = lab.run(*asked)
    manifests = [*results.glob("*/run.json")]
    assert len(manifests) == 1, lab.said
    folder = manifests[0].parent
    statuses = {trial["status"] for trial in trials(folder)}
    assert exit_code == (0 if statuses == {"valid"} else 1), lab.said
    return folder


def trials(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "trials.jsonl").open()]
    return sorted(found, key=lambda trial: trial["trial_id"])


def metrics(trial: dict[str, Any]) -> set[str]:
    return {sample["metric"] for sample in trial["samples"]}


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("name", ["quickstart", "firewall-chain"])
def test_on_both_infrastructures(new_lab: Callable[..., CloudLab], name: str) -> None:
    lab = new_lab({})
    folders = [run(lab, name, profile) for profile in PROFILES]

    here, there = map(trials, folders)
    assert {trial["status"] for trial in (*here, *there)} <= {"valid", "untrusted"}
    probes = {trial["label"] for trial in here}
    assert {trial["label"] for trial in there if trial["status"] == "valid"} == probes
    for ours, cloud in zip(here, there, strict=True):
        assert ours["trial_id"] == cloud["trial_id"]
        assert metrics(ours) == metrics(cloud)
        assert cloud["deployment"]["traversal"]["proven"] is True
        if cloud["deployment"]["facts"]["chain"]:
            assert cloud["deployment"]["encapsulation"] == "nsh-eth"
            assert cloud["deployment"]["spi"] > 0

    compared = lab.folder / "compared.json"
    assert lab.run("compare", *map(str, folders), "--json", str(compared)) == 0, lab.said
    rows = json.loads(compared.read_text())["rows"]
    assert {row["label"] for row in rows} == probes


def test_an_example_of_a_program(new_lab: Callable[..., CloudLab]) -> None:
    """It needs nothing in the VM but what the driver carries there."""
    short = ("--set", "design.rounds=1", "--set", "design.warmup_rounds=0")
    folder = run(new_lab({}), str(EXAMPLE), "openstack", short)
    found = trials(folder)
    assert {trial["status"] for trial in found} <= {"valid", "untrusted"}
    assert {trial["label"] for trial in found if trial["status"] == "valid"} == {"ping", "tcp"}
    for trial in found:
        assert trial["deployment"]["traversal"]["data_planes"] == {"firewall-1": "counters"}
        assert trial["notes"]["sf_counters"]["firewall-1"]["passed"] > 0
