"""A real run that is killed: `resume` ends it, `clean` leaves nothing, others are not touched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.command import SFCPERF, spawn
from support.ended import ended
from support.local import left_by, processes_of, processes_with, small_workflow
from support.network.wires import eventually

pytestmark = pytest.mark.root

MOMENTS = 20
DONE = {0, 1}
"""Exit codes of a run that has measured everything; 1: a busy machine made a trial doubtful."""
DOCUMENT = small_workflow(
    topology="T2",
    vnfs={"fwd": {"type": "forwarder"}, "rtr": {"type": "router"}},
    chain={"functions": [{"vnf": "fwd", "count": "${chain_length}"}, {"vnf": "rtr"}]},
    factors={"chain_length": [0, 1]},
    probes=[
        {"probe": "ping", "count": 10, "interval_s": 0.01},
        {"probe": "httperf", "connections": 2, "calls_per_connection": 300},
    ],
    monitors=[{"monitor": "cpu"}, {"monitor": "tcpdump"}],
)
LONG = {
    **DOCUMENT,
    "probes": [
        *DOCUMENT["probes"],
        {"probe": "iperf3", "protocol": "udp", "duration_s": 1, "rate_bps": 1000000},
    ],
    "publish": [{"to": "report"}],
}


def planned(document: dict[str, object]) -> list[str]:
    labels = {"ping": "ping", "httperf": "httperf", "iperf3": "iperf3-udp"}
    names = [labels[probe["probe"]] for probe in document["probes"]]
    return sorted(f"r001-s{scenario:03d}-{name}" for scenario in (0, 1) for name in names)


@dataclass
class Lab:
    """A workflow, and folders of one test: results, and all temporary files of its commands."""

    workflow: Path
    results: Path
    temporary: Path

    def start(self, **environment: str) -> subprocess.Popen[str]:
        """A run in a process group of its own."""
        return spawn(
            *("run", self.workflow, "--results", self.results),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**self._environment, **environment},
            start_new_session=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return ended([SFCPERF, *arguments], timeout_s=120, environment=self._environment)

    @property
    def _environment(self) -> dict[str, str]:
        """It also marks every process that a command starts."""
        return {**os.environ, "TMPDIR": str(self.temporary)}

    @property
    def folder(self) -> Path | None:
        """The run folder, if the run got that far."""
        found = sorted(self.results.glob("*/run.json")) if self.results.is_dir() else []
        return found[0].parent if found else None

    def check_nothing_is_left(self, state_dir: Path) -> None:
        for manifest in self.results.glob("*/run.json"):
            assert left_by(manifest.parent) == []
        assert processes_with("TMPDIR", str(self.temporary)) == {}
        assert list(self.temporary.iterdir()) == []
        assert list((state_dir / "runs").glob("*")) == []


def _lab(folder: Path, document: dict[str, object]) -> Lab:
    workflow, temporary = folder / "killed.json", folder / "temporary"
    workflow.write_text(json.dumps(document))
    temporary.mkdir()
    return Lab(workflow, folder / "results", temporary)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return _lab(tmp_path, DOCUMENT)


@pytest.fixture
def long_lab(tmp_path: Path) -> Lab:
    """With a probe that measures for a second, and a report."""
    return _lab(tmp_path, LONG)


@pytest.fixture(scope="session")
def length_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long the run takes here when nobody kills it."""
    folder = tmp_path_factory.mktemp("whole")
    lab = _lab(folder, DOCUMENT)
    started = time.monotonic()
    assert lab.start(SFCPERF_STATE_DIR=str(folder / "state")).wait(timeout=120) in DONE
    return time.monotonic() - started


def trials(folder: Path) -> list[str]:
    """Ids of the trials on record, sorted; all have numbers, if doubtful on a busy machine."""
    records = [json.loads(line) for line in (folder / "trials.jsonl").open()]
    assert {record["status"] for record in records} <= {"valid", "untrusted"}
    return sorted(record["trial_id"] for record in records)


def kill_during(lab: Lab, share: float, length_s: float) -> None:
    """Kill a run that lives, when this share of its time is over."""
    while True:
        started = time.monotonic()
        run = lab.start()
        try:
            run.wait(timeout=share * length_s)
        except subprocess.TimeoutExpired:
            os.kill(run.pid, signal.SIGKILL)
        if run.wait() == -signal.SIGKILL:
            return
        # It was faster than the one whose length is known.
        assert run.returncode in DONE
        length_s = time.monotonic() - started
        shutil.rmtree(lab.results)


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_killed_at_any_moment(
    lab: Lab, state_dir: Path, bystander: tuple[str, int], length_s: float, moment: int
) -> None:
    """The moments are spread from before the run folder exists to the run's last steps."""
    kill_during(lab, (moment + 0.5) / MOMENTS, length_s)
    check_resumed_and_cleaned(lab, state_dir, bystander)


def test_killed_half_way(lab: Lab, state_dir: Path, bystander: tuple[str, int]) -> None:
    run = lab.start()
    while lab.folder is None or not (lab.folder / "trials.jsonl").is_file():
        assert run.poll() is None
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    check_resumed_and_cleaned(lab, state_dir, bystander)


def check_resumed_and_cleaned(lab: Lab, state_dir: Path, bystander: tuple[str, int]) -> None:
    if lab.folder is not None:
        resumed = lab.run("resume", str(lab.folder))
        if "complete" not in resumed.stderr:
            assert resumed.returncode in DONE, resumed.stdout + resumed.stderr
        assert trials(lab.folder) == planned(DOCUMENT)
    cleaned = lab.run("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    lab.check_nothing_is_left(state_dir)
    name, pid = bystander
    assert name in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
    os.kill(pid, 0)


@pytest.mark.exhaustive
def test_clean_alone_after_a_kill_while_measuring(long_lab: Lab, state_dir: Path) -> None:
    lab = long_lab
    run = lab.start()
    # In the midst of the last probe: server, client, capture, SFF and functions are all there.
    while not {"iperf3", "tcpdump", "sfc-sff", "sfc-forwarder"} <= _names(lab):
        assert run.poll() is None
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert lab.folder is not None
    tag = lab.folder.name.rpartition("-")[2]
    # Two ways to find them agree: that of the environment, and that of what the run has made.
    # A command that the run was waiting for may end meanwhile.
    assert eventually(
        lambda: processes_with("TMPDIR", str(lab.temporary)).keys() == processes_of(tag).keys()
    )
    assert processes_of(tag) != {}
    announced = lab.run("clean", "--dry-run")
    assert f"sfcperf-{tag}-client" in announced.stdout
    assert processes_of(tag) != {}
    assert lab.run("clean").returncode == 0
    lab.check_nothing_is_left(state_dir)


def _names(lab: Lab) -> set[str]:
    return set(processes_with("TMPDIR", str(lab.temporary)).values())


@pytest.mark.exhaustive
def test_a_signal_ends_it_in_order(lab: Lab, state_dir: Path) -> None:
    run = lab.start()
    while lab.folder is None or not list(lab.folder.glob("raw/r001*")):
        assert run.poll() is None
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGTERM)
    assert run.wait(timeout=60) == 130
    lab.check_nothing_is_left(state_dir)
    assert json.loads((lab.folder / "run.json").read_text())["status"] == "interrupted"
    assert lab.run("resume", str(lab.folder)).returncode in DONE
    assert trials(lab.folder) == planned(DOCUMENT)
    lab.check_nothing_is_left(state_dir)
