"""A real chain that breaks in the middle of a measurement."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from support.local import processes_of

from sfcperf.control import run as engine
from sfcperf.control.events import Listener
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document

pytestmark = pytest.mark.root

DOCUMENT = {
    "sfcperf": 1,
    "name": "broken",
    "infrastructure": {"driver": "local"},
    "topology": "T1",
    "vnfs": {"fwd": {"type": "forwarder", "knobs": {"engine": "userspace"}}},
    "chain": {"functions": [{"vnf": "fwd"}]},
    "probes": [{"probe": "ping", "count": 40, "interval_s": 0.05, "timeout_s": 0.2}],
    "monitors": [{"monitor": "cpu"}],
    "design": {"rounds": 1, "warmup_rounds": 0, "max_retries": 0},
    "publish": [],
}
LATE = 30
"""More than half of the requests: enough packets have crossed for the trial to count."""


def _kill_when_late(command: str, results: Path) -> int:
    """Kill the run's process of this name when the ping is well under way; gives its id."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for output in results.glob("*/raw/r001-s000-ping/attempt-1/ping.txt"):
            if f"icmp_seq={LATE} " in output.read_text():
                tag = output.parents[3].name.rpartition("-")[2]
                (pid,) = (pid for pid, name in processes_of(tag).items() if name == command)
                os.kill(pid, signal.SIGKILL)
                return pid
        time.sleep(0.005)
    raise AssertionError("the ping did not get so far")


@pytest.mark.parametrize("command", ["ovs-vswitchd", "sfc-forwarder"])
def test_what_dies_in_the_middle_of_a_ping_voids_the_trial(tmp_path: Path, command: str) -> None:
    results = tmp_path / "results"
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(_kill_when_late(command, results)))
    killer.start()
    workflow = load_document(DOCUMENT, tmp_path)
    engine.start(workflow, results, command=["test"], listener=Listener())
    killer.join(60)
    assert len(killed) == 1
    (folder,) = results.iterdir()
    (record,) = RunStore(folder).trials()
    # ping itself was content: it had replies, and packets enough had crossed the chain.
    assert "bytes from" in (folder / record.raw / "attempt-1" / "ping.txt").read_text()
    assert (record.status, record.samples) == ("failed", ())
    assert "broke during the measurement" in record.reasons[0]
    culprit = {"ovs-vswitchd": "the SFF of node1", "sfc-forwarder": "fwd-1"}[command]
    assert culprit in record.reasons[0]
