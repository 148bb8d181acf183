"""A real run that is killed: `resume` ends it, `clean` leaves nothing, others are not touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.local import traces

pytestmark = [pytest.mark.root, pytest.mark.slow]

SFCPERF = str(Path(sys.executable).with_name("sfcperf"))
MOMENTS = 20
DOCUMENT = {
    "sfcperf": 1,
    "name": "killed",
    "infrastructure": {"driver": "local"},
    "topology": "T2",
    "vnfs": {"fwd": {"type": "forwarder"}, "rtr": {"type": "router"}},
    "chain": {"functions": [{"vnf": "fwd", "count": "${chain_length}"}, {"vnf": "rtr"}]},
    "factors": {"chain_length": [0, 1]},
    "probes": [
        {"probe": "ping", "count": 10, "interval_s": 0.01},
        {"probe": "iperf3", "protocol": "udp", "duration_s": 1, "rate_bps": 1000000},
    ],
    "monitors": [{"monitor": "cpu"}, {"monitor": "tcpdump"}],
    "design": {"rounds": 1, "warmup_rounds": 0},
}
PLANNED = {"r001-s000-ping", "r001-s000-iperf3-udp", "r001-s001-ping", "r001-s001-iperf3-udp"}


@dataclass
class Lab:
    """A workflow, a results folder and a state folder of one test."""

    workflow: Path
    results: Path

    def command(self, *arguments: str) -> list[str]:
        return [SFCPERF, *arguments]

    def start(self) -> subprocess.Popen[bytes]:
        """A run in a process group of its own."""
        return subprocess.Popen(
            self.command("run", str(self.workflow), "--results", str(self.results)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def folder(self) -> Path | None:
        """The run folder, if the run got that far."""
        found = sorted(self.results.glob("*/run.json")) if self.results.is_dir() else []
        return found[0].parent if found else None


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    workflow = tmp_path / "killed.json"
    workflow.write_text(json.dumps(DOCUMENT))
    return Lab(workflow, tmp_path / "results")


@pytest.fixture
def bystander() -> Iterator[tuple[str, int]]:
    """A namespace and a process of somebody else."""
    name = f"sfcperfish-{os.getpid()}-{time.monotonic_ns()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    process = subprocess.Popen(["ip", "netns", "exec", name, "sleep", "300"])
    yield name, process.pid
    process.kill()
    process.wait()
    subprocess.run(["ip", "netns", "del", name], check=True)


def trials(folder: Path) -> list[str]:
    return [json.loads(line)["trial_id"] for line in (folder / "trials.jsonl").open()]


def check_nothing_is_left(lab: Lab, state_dir: Path) -> None:
    if lab.folder is not None:
        assert traces(lab.folder.name.rpartition("-")[2]) == []
    assert list((state_dir / "runs").glob("*")) == []


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_killed_at_any_moment(
    lab: Lab, state_dir: Path, bystander: tuple[str, int], moment: int
) -> None:
    """The moments lie 0.3 s apart, from before the run folder exists to its last trials."""
    run = lab.start()
    try:
        run.wait(timeout=0.3 * moment + 0.2)
    except subprocess.TimeoutExpired:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    if lab.folder is not None and run.returncode == -signal.SIGKILL:
        resumed = lab.run("resume", str(lab.folder))
        if "complete" not in resumed.stderr:
            assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        assert sorted(trials(lab.folder)) == sorted(PLANNED)
    cleaned = lab.run("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    check_nothing_is_left(lab, state_dir)
    name, pid = bystander
    assert name in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
    os.kill(pid, 0)


def test_clean_alone_after_a_kill_while_measuring(lab: Lab, state_dir: Path) -> None:
    run = lab.start()
    while lab.folder is None or not (lab.folder / "trials.jsonl").exists():
        assert run.poll() is None
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    tag = lab.folder.name.rpartition("-")[2]
    assert traces(tag) != []
    announced = lab.run("clean", "--dry-run")
    assert f"sfcperf-{tag}-client" in announced.stdout
    assert traces(tag) != []
    assert lab.run("clean").returncode == 0
    check_nothing_is_left(lab, state_dir)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(lab: Lab, state_dir: Path, sent: signal.Signals) -> None:
    run = lab.start()
    while lab.folder is None or not list(lab.folder.glob("raw/r001*")):
        assert run.poll() is None
        time.sleep(0.02)
    os.kill(run.pid, sent)
    assert run.wait(timeout=60) == 130
    check_nothing_is_left(lab, state_dir)
    assert json.loads((lab.folder / "run.json").read_text())["status"] == "interrupted"
    assert lab.run("resume", str(lab.folder)).returncode == 0
    assert sorted(trials(lab.folder)) == sorted(PLANNED)
    check_nothing_is_left(lab, state_dir)


def test_two_runs_at_once(lab: Lab, state_dir: Path) -> None:
    runs = [lab.start(), lab.start()]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    folders = sorted(path.parent for path in lab.results.glob("*/run.json"))
    assert len(folders) == 2
    for folder in folders:
        assert sorted(trials(folder)) == sorted(PLANNED)
        assert traces(folder.name.rpartition("-")[2]) == []
    check_nothing_is_left(lab, state_dir)
