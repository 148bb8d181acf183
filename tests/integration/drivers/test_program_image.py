"""Programs in container images as functions of a chain."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.local import local_driver
from support.network.echoes import ping
from support.records.scenarios import scenario
from support.vnfs.images import NAME, image

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import DeploymentError

pytestmark = pytest.mark.root

WIRE = {"attach": "bridged", "command": ["socat", "INTERFACE:{{ingress}}", "INTERFACE:{{egress}}"]}
INSIDE = [
    "sh",
    "-c",
    "ls=$(cat own.txt); echo uid $(id -u); echo own ${#ls}; echo variable $OWN; "
    "echo image $OF_IMAGE; echo processes $(ls /proc | grep -c '^[0-9]')",
]


@pytest.fixture(scope="module")
def socat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image(tmp_path_factory.mktemp("image") / "socat", programs=["socat"])


@pytest.fixture(scope="module")
def saved(socat: Path) -> Path:
    """As `docker save` writes it, by a tool that is not ours."""
    file = socat.with_name("socat.tar")
    copy = ["skopeo", "copy", "--insecure-policy", f"oci:{socat}:{NAME}", f"docker-archive:{file}"]
    subprocess.run(copy, check=True, capture_output=True)
    return file


@pytest.fixture
def dataplane() -> str:
    return "ebpf"


@pytest.mark.parametrize("kind", ["socat", "saved"])
def test_it_carries_packets_and_is_proven(
    driver: LocalDriver, kind: str, request: pytest.FixtureRequest
) -> None:
    """Two instances of one image, each with its own files."""
    file = request.getfixturevalue(kind)
    chain = scenario(["program", "router", "program"], knobs={**WIRE, "image": str(file)})
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert proof.data_planes["program-1"] == proof.data_planes["program-3"] == "process"
    before = deployment.functions[0].counters()
    assert ping(deployment, 5) == 5
    assert deployment.functions[0].counters()["forwarded"] - before["forwarded"] == 10
    assert driver.problems(deployment) == []
    facts = deployment.facts["functions"]["program-1"]
    assert facts["command"][0] == "socat"
    inspected = subprocess.run(
        ["skopeo", "inspect", "--raw", f"oci:{request.getfixturevalue('socat')}:{NAME}"],
        check=True, capture_output=True,
    ).stdout
    print(facts, inspected)
    kept = driver.context.state_dir / "cache"
    assert len(list(kept.iterdir())) == 1
