"""Programs in container images as functions of a chain."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.local import local_driver
from support.network.echoes import ping
from support.network.wires import eventually
from support.records.scenarios import scenario
from support.vnfs.images import NAME, image

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import DeploymentError

pytestmark = pytest.mark.root

WIRE = {"attach": "bridged", "command": ["socat", "INTERFACE:{{ingress}}", "INTERFACE:{{egress}}"]}
OWN = ("--config.cmd=/srv/start", "--config.workingdir=/srv", "--config.user=1000:1000")
START = """#!/bin/sh
echo from $OF_IMAGE and $OWN as $(id -u)
cat own.txt
touch /tmp/written && ls /tmp | wc -l
ifconfig lo mtu 9999 && echo permitted
exec sleep 1000
"""


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


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a command, variables, a user and a folder of its own."""
    files = {"/srv/start": START}
    folder = tmp_path_factory.mktemp("image") / "own"
    return image(folder, *OWN, "--config.env=OF_IMAGE=image", files=files)


@pytest.fixture
def dataplane() -> str:
    return "ebpf"


@pytest.mark.parametrize("kind", ["socat", pytest.param("saved", marks=pytest.mark.exhaustive)])
def test_it_carries_packets_and_is_proven(
    driver: LocalDriver, kind: str, request: pytest.FixtureRequest
) -> None:
    """Two instances of one image, which is unpacked once."""
    file = request.getfixturevalue(kind)
    chain = scenario(["program", "router", "program"], knobs={**WIRE, "image": str(file)})
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert proof.data_planes["program-1"] == proof.data_planes["program-3"] == "process"
    first = deployment.functions[0]
    before = first.counters()
    assert ping(deployment, 5) == 5
    assert first.counters()["forwarded"] - before["forwarded"] == 10
    assert driver.problems(deployment) == []
    assert deployment.facts["functions"]["program-1"]["image"] == _digest(file)
    assert len(list((driver.context.state_dir / "cache").iterdir())) == 1


def _digest(file: Path) -> str:
    """Of the manifest of a layout, by skopeo; the image ID of an archive, by its specification."""
    if file.is_dir():
        raw = ["skopeo", "inspect", "--raw", f"oci:{file}:{NAME}"]
        content = subprocess.run(raw, check=True, capture_output=True).stdout
    else:
        with tarfile.open(file) as tar:
            [name] = [
                name
                for name in tar.getnames()
                if len(Path(name).stem) == 64 and name.endswith(".json")
            ]
            stream = tar.extractfile(name)
            assert stream is not None
            content = stream.read()
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.mark.parametrize(
    "capabilities", [pytest.param([], marks=pytest.mark.exhaustive), ["NET_ADMIN"]]
)
def test_what_the_image_says_holds(driver: LocalDriver, own: Path, capabilities: list[str]) -> None:
    """Its command, user, variables and folder; its files are apart from those of other instances,
    and what was not asked for is not permitted."""
    knobs = {
        "image": str(own),
        "capabilities": capabilities,
        "files": {"own.txt": ["of {{name}}"]},
        "env": {"OWN": "{{name}}"},
        "setup": [["sh", "-c", "grep of own.txt"]],
        "ready": {"output": "^1$"},
        "counters": [
            "sh",
            "-c",
            "echo uid $(id -u); echo lines $(cat own.txt | wc -l); echo written $(ls /tmp | wc -l)",
        ],
        "data_plane": "kernel",
    }
    deployment = driver.deploy(scenario(["program", "program"], knobs=knobs))
    for function in deployment.functions:
        counters = function.counters()
        assert (counters["uid"], counters["lines"], counters["written"]) == (1000, 1, 1)
        [printed] = (driver.context.raw_dir / deployment.id).rglob(f"{function.name}-*.out")
        lines = [f"from image and {function.name} as 1000", f"of {function.name}", "1"]
        assert printed.read_text().splitlines() == lines + ["permitted"] * len(capabilities)
        assert deployment.facts["functions"][function.name]["command"] == ["/srv/start"]


@pytest.mark.parametrize("privileged", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_a_privileged_one_has_what_this_process_has(
    driver: LocalDriver, own: Path, privileged: bool
) -> None:
    """All capabilities and devices, and settings of the kernel; no other one has."""
    held = re.findall(r"^CapPrm:\s*(\w+)$", Path("/proc/self/status").read_text(), re.M)[0]
    counters = (
        "echo capabilities $((0x$(grep CapPrm /proc/self/status | grep -o '[0-9a-f]*$')));"
        "echo devices $(ls /dev | grep -c '^kmsg$');"
        "echo settings $(echo 1 2>&- > /proc/sys/net/ipv4/ip_forward && echo 1 || echo 0)"
    )
    knobs = {
        "image": str(own),
        "command": ["sleep", "1000"],
        "counters": ["sh", "-c", counters],
        "privileged": privileged,
    }
    [function] = driver.deploy(scenario(["program"], knobs=knobs)).functions
    counted = function.counters()
    assert counted["devices"] == privileged * Path("/dev/kmsg").exists()
    assert counted["settings"] == privileged
    assert counted["capabilities"] == privileged * int(held, 16)


def test_one_that_is_killed_is_told(driver: LocalDriver, own: Path) -> None:
    """Its processes are in the control group of the function, and none is left."""
    knobs = {"image": str(own), "command": ["sh", "-c", "echo all is well; sleep 27182; echo no"]}
    deployment = driver.deploy(scenario(["program"], knobs=knobs))
    [function] = deployment.functions
    runtime, shell, child = sorted(function.data_plane_pids)
    assert driver.problems(deployment) == []
    os.kill(shell, signal.SIGKILL)
    eventually(lambda: driver.problems(deployment) != [])
    [problem] = driver.problems(deployment)
    assert problem == "program-1: its program has ended by SIGKILL; it printed: all is well"
    driver.teardown(deployment)
    assert not any(Path(f"/proc/{pid}").exists() for pid in (runtime, shell, child))


def test_output_without_end_does_not_fill_the_disk(
    driver: LocalDriver, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writes fail: SIGXFSZ does not end process 1."""
    monkeypatch.setattr("sfcperf.vnfs.program.program.MAX_FILE_BYTES", 64 << 10)
    knobs = {"image": str(own), "command": ["sh", "-c", "while echo y; do :; done; exit 9"]}
    with pytest.raises(DeploymentError, match="its program has ended with status 9"):
        driver.deploy(scenario(["program"], knobs={**knobs, "ready": {"port": 99}}))
    [printed] = driver.context.raw_dir.rglob("program-1-*.out")
    assert printed.stat().st_size == 64 << 10


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "exits": (
        {"command": ["sh", "-c", "echo starting; echo no licence >&2; exit 3"]},
        "its program has ended with status 3; it printed: starting; no licence",
    ),
    "not-there": (
        {"command": ["no-such-program"]},
        "it printed: executable file `no-such-program` not found",
    ),
    "goes-to-the-background": (
        {"command": ["sh", "-c", "setsid sleep 27182 & exit 0"], "ready": {"port": 99}},
        "its program has ended with status 0, or moved to the background; it printed: nothing",
    ),
    "never-ready": (
        {
            "command": ["sleep", "9"],
            "ready": {"command": ["false"]},
            "ready_timeout_s": 0.3,
            "stop_timeout_s": 0.1,
        },
        "`false` fails",
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BAD)
def test_bad_programs_are_told_and_leave_nothing(tmp_path: Path, socat: Path, name: str) -> None:
    knobs, told = BAD[name]
    chain = scenario(["program"], knobs={**knobs, "image": str(socat)})
    mounted = Path("/proc/self/mountinfo").read_text().count(str(tmp_path))
    with local_driver(tmp_path) as driver:
        with pytest.raises(DeploymentError, match="program-1") as caught:
            driver.deploy(chain)
        assert told in str(caught.value)
        assert Path("/proc/self/mountinfo").read_text().count(str(tmp_path)) == mounted


@pytest.mark.parametrize("of", [pytest.param("layout", marks=pytest.mark.exhaustive), "archive"])
def test_a_damaged_layer_is_not_run(tmp_path: Path, socat: Path, saved: Path, of: str) -> None:
    """It has the size that it should have, so that only its digest shows it."""
    copy = tmp_path / "damaged"
    if of == "layout":
        copy = image(copy, programs=["socat"])
        damaged = max((copy / "blobs" / "sha256").iterdir(), key=lambda file: file.stat().st_size)
    else:
        damaged = copy
        copy.write_bytes(saved.read_bytes())
    with damaged.open("r+b") as file:
        file.seek(damaged.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    with local_driver(tmp_path) as driver:
        with pytest.raises(DeploymentError, match="program-1") as caught:
            driver.deploy(scenario(["program"], knobs={**WIRE, "image": str(copy)}))
        assert "damaged" in str(caught.value) or "mismatch" in str(caught.value)
        assert list((driver.context.state_dir / "cache").iterdir()) == []
