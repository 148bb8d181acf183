"""A program that only a workflow describes, from an empty folder to a verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.command import SFCPERF, run_folder, spawn
from support.ended import ended
from support.local import left_by, small_workflow
from support.network.wires import eventually
from support.schemas import violations
from support.vnfs.images import image

pytestmark = pytest.mark.root

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = EXAMPLES / "any-program" / "bridge-or-socat.json"
IMAGE_EXAMPLE = EXAMPLES / "container-image"
LINES = 40
SHORT = {"design.rounds": 1, "design.warmup_rounds": 0, "publish": []}


def _trials(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


@pytest.mark.exhaustive
def test_the_example_measures_both_programs(tmp_path: Path) -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= LINES
    workflow = Path(shutil.copy(EXAMPLE, tmp_path))
    folder = run_folder(workflow, tmp_path / "results", SHORT, timeout_s=120)
    trials = _trials(folder)
    assert {(t["scenario"]["variant"], t["label"]) for t in trials} == {
        (variant, probe) for variant in ("bridge", "socat") for probe in ("ping", "tcp")
    }
    for trial in trials:
        proven = {"bridge": "counters", "socat": "process"}[trial["scenario"]["variant"]]
        assert trial["deployment"]["traversal"]["data_planes"] == {"wire-1": proven}


@pytest.mark.parametrize(
    ("name", "scenarios"),
    [
        ("haproxy", [{"variant": "tcp"}, {"variant": "http"}]),
        pytest.param(
            "squid", [{"chain_length": 0}, {"chain_length": 1}], marks=pytest.mark.exhaustive
        ),
        pytest.param("dnsmasq", [{"cache": 0}, {"cache": 10000}], marks=pytest.mark.exhaustive),
    ],
)
def test_the_examples_of_proxies(
    tmp_path: Path, name: str, scenarios: list[dict[str, Any]]
) -> None:
    example = EXAMPLES / "proxies" / f"{name}.json"
    assert len(example.read_text().splitlines()) <= LINES
    workflow = Path(shutil.copy(example, tmp_path))
    folder = run_folder(workflow, tmp_path / "results", SHORT, timeout_s=120)
    trials = _trials(folder)
    assert sorted(map(str, scenarios)) == sorted(str(trial["scenario"]) for trial in trials)
    for trial in trials:
        proven = trial["deployment"]["traversal"]["data_planes"]
        length = trial["scenario"].get("chain_length", 1)
        assert list(proven.values()) == ["connections"] * length
        assert trial["status"] == "valid"


@pytest.mark.exhaustive
@pytest.mark.parametrize("script", [False, True])
def test_the_example_measures_a_container_image(tmp_path: Path, script: bool) -> None:
    """The script downloads packages; without it, the image is made of what is installed."""
    folder = Path(shutil.copytree(IMAGE_EXAMPLE, tmp_path / "example"))
    workflow, tar = folder / "wire.json", folder / "socat.tar"
    assert len(workflow.read_text().splitlines()) <= LINES
    if script:
        subprocess.run([folder / "build.sh"], check=True, capture_output=True)
    else:
        layout = image(tmp_path / "layout", programs=["socat"])
        subprocess.run(["tar", "-C", layout, "-cf", tar, "."], check=True)
    run = run_folder(workflow, tmp_path / "results", SHORT, timeout_s=120)
    trials = _trials(run)
    digests = set()
    for trial in trials:
        deployment = trial["deployment"]
        assert deployment["traversal"]["data_planes"] == {"wire-1": "process"}
        facts = deployment["facts"]["functions"]["wire-1"]
        in_image = trial["scenario"]["variant"] == "image"
        assert ("image" in facts) == in_image
        digests |= {facts["image"]} if in_image else set()
    assert len(trials) == 4
    # A package takes the image along, and a replay shows its digest and finds it there.
    [digest], package = digests, tmp_path / "p.zip"
    packed = ended([SFCPERF, "pack", run, "-o", package, "--large-files"], timeout_s=60)
    assert packed.returncode == 0, packed.stderr
    shutil.rmtree(folder)
    shown = ended([SFCPERF, "replay", package], timeout_s=120)
    assert f"  image: {digest}\n" in shown.stdout, shown.stderr


@pytest.mark.parametrize(
    ("kind", "changes", "proven"),
    [
        ("program", {"probes.0.count": 5, "probes.1.duration_s": 1}, {"my-vnf-1": "process"}),
        pytest.param(
            "proxy",
            {"probes.0.duration_s": 1},
            {"my-proxy-1": "connections"},
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_what_init_writes_runs_at_once(
    tmp_path: Path, kind: str, changes: dict[str, Any], proven: dict[str, str]
) -> None:
    assert ended([SFCPERF, "init", tmp_path, "--kind", kind], timeout_s=60).returncode == 0
    workflow = tmp_path / "workflow.json"
    folder = run_folder(workflow, tmp_path / "results", {**SHORT, **changes}, timeout_s=120)
    for trial in _trials(folder):
        assert trial["status"] == "valid", trial["reasons"]
        assert trial["deployment"]["traversal"]["data_planes"] == proven


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose program is a script beside the workflow."""
    lab = tmp_path_factory.mktemp("lab")
    script = lab / "bin" / "limit.sh"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\ntc qdisc add dev $1 root tbf rate $2kbit burst 50k latency 1s\n"
        "echo limited to $2\nexec sleep 100000\n"
    )
    script.chmod(0o755)
    knobs = {
        "setup": [["ip", "link", "set", "{{egress}}", "txqueuelen", "1000"]],
        "command": ["bin/limit.sh", "{{egress}}", "{{rate_kbit}}"],
        "ready": {"output": "^limited"},
        "data_plane": "kernel",
        "schema": {"rate_kbit": {"type": "integer", "minimum": 100}},
        "values": {"rate_kbit": "${rate_kbit}"},
    }
    document = {
        "sfcperf": 1,
        "name": "limit",
        "vnfs": {"limit": {"type": "program", "knobs": knobs}},
        "chain": {"functions": [{"vnf": "limit"}]},
        "factors": {"rate_kbit": [10_000, 20_000]},
        "probes": [{"probe": "iperf3", "name": "tcp", "protocol": "tcp", "duration_s": 1}],
        "design": {"rounds": 1, "warmup_rounds": 0},
        "publish": [],
    }
    workflow = lab / "limit.json"
    workflow.write_text(json.dumps(document))
    folder = run_folder(workflow, lab / "results", timeout_s=120)
    assert not violations(folder)
    return folder


def test_scripts_beside_the_workflow_and_own_knobs(limited: Path) -> None:
    """What the program prints stays in the results."""
    rates = {t["scenario"]["rate_kbit"]: t["samples"][0]["value"] for t in _trials(limited)}
    assert 0.5 < rates[10_000] / 10e6 < 1.3
    assert 0.5 < rates[20_000] / 20e6 < 1.3
    printed = [file.read_text() for file in limited.rglob("limit-1-*.out")]
    assert sorted(printed) == ["limited to 10000\n", "limited to 20000\n"]


def test_a_package_takes_the_script_along(limited: Path, tmp_path: Path) -> None:
    """Programs of the machine are recorded with their packages."""
    manifest = json.loads((limited / "run.json").read_text())
    packages = {entry["name"]: entry["package"] for entry in manifest["programs"]}
    shown = ["dpkg-query", "--show", "--showformat=iproute2 ${Version}", "iproute2"]
    assert packages["ip"] == subprocess.check_output(shown, text=True)
    lab = limited.parents[1]
    packing = [SFCPERF, "pack", limited, "-o", tmp_path / "p.zip"]
    assert ended(packing, timeout_s=60).returncode == 0
    elsewhere = lab.rename(tmp_path / "gone")
    try:
        short = ["--test", "t", "--set", "factors.rate_kbit=[10000]"]
        replay = [SFCPERF, "replay", tmp_path / "p.zip", "--results", tmp_path / "results", *short]
        shown_only = ended(replay, timeout_s=60)
        assert "command: bin/limit.sh '{{egress}}' '{{rate_kbit}}'" in shown_only.stdout
        assert not (tmp_path / "results").exists()
        done = ended([*replay, "--trust"], timeout_s=120)
        assert done.returncode in (0, 1), done.stderr
    finally:
        elsewhere.rename(lab)
    [here] = (tmp_path / "results").glob("*-limit-*")
    [trial] = _trials(here)
    assert trial["status"] == "valid", trial["reasons"]
    assert [file.read_text() for file in here.rglob("limit-1-*.out")] == ["limited to 10000\n"]


@pytest.mark.parametrize("in_image", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_nothing_stays_of_a_run_that_is_killed(tmp_path: Path, in_image: bool) -> None:
    """Not even a process that has left its parent and session, or a mount of a container."""
    knobs = {
        "command": ["sh", "-c", "setsid sleep 271828 & exec sleep 314159"],
        "data_plane": "kernel",
        "image": str(image(tmp_path / "image")) if in_image else "",
    }
    mounted = Path("/proc/self/mountinfo").read_text().count("/hosts/own-1/")
    document = small_workflow(
        vnfs={"own": {"type": "program", "knobs": knobs}},
        chain={"functions": [{"vnf": "own"}]},
        probes=[{"probe": "ping", "count": 1000, "interval_s": 0.1}],
    )
    workflow = tmp_path / "own.json"
    workflow.write_text(json.dumps(document))
    results = tmp_path / "results"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with spawn("run", workflow, "--results", results, **quiet) as process:
        assert eventually(lambda: len(_sleeping()) == 2)
        process.kill()
    [folder] = results.iterdir()
    assert ended([SFCPERF, "clean"], timeout_s=60).returncode == 0
    assert left_by(folder) == []
    assert _sleeping() == []
    assert Path("/proc/self/mountinfo").read_text().count("/hosts/own-1/") == mounted


def _sleeping() -> list[str]:
    """Command lines of the test's own processes."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        # A process may end meanwhile.
        with suppress(OSError):
            words = file.read_text().rstrip("\0").split("\0")
            if words[0] == "sleep" and words[1] in ("271828", "314159"):
                found.append(" ".join(words))
    return found
