"""A real chain that breaks in the middle of a measurement."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.local import left_by, processes_of, small_workflow

from sfcperf import retry
from sfcperf.control import run as engine
from sfcperf.control.events import Listener
from sfcperf.drivers.local.cgroups import this_machine
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document

pytestmark = pytest.mark.root

DOCUMENT = small_workflow(
    vnfs={"fwd": {"type": "forwarder", "knobs": {"engine": "userspace"}}},
    probes=[{"probe": "ping", "count": 40, "interval_s": 0.05, "timeout_s": 0.2}],
    monitors=[{"monitor": "cpu"}],
    design={"rounds": 1, "warmup_rounds": 0, "max_retries": 0},
)
LATE = 30
"""More than half of the requests: enough packets have crossed for the trial to count."""


def _when_late(results: Path) -> str:
    """Wait until the ping is well under way; gives the tag of the run."""

    def late() -> list[Path]:
        outputs = results.glob("*/raw/r001-s000-ping/attempt-1/ping.txt")
        return [output for output in outputs if f"icmp_seq={LATE} " in output.read_text()]

    found = retry.until(late, timeout_s=60, period_s=0.005)
    assert found, "the ping did not get so far"
    (output,) = found
    return output.parents[3].name.rpartition("-")[2]


def _kill(command: str, tag: str) -> int:
    """Kill the run's process of this name; gives its id."""
    (pid,) = (pid for pid, name in processes_of(tag).items() if name == command)
    os.kill(pid, signal.SIGKILL)
    return pid


@pytest.mark.gate_runs(2)
@pytest.mark.parametrize("command", ["sfc-sff", "ovs-vswitchd", "sfc-forwarder"])
def test_what_dies_in_the_middle_of_a_ping_voids_the_trial(tmp_path: Path, command: str) -> None:
    results = tmp_path / "results"
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(_kill(command, _when_late(results))))
    killer.start()
    plane = "ovs" if command == "ovs-vswitchd" else "ebpf"
    infrastructure = {"driver": "local", "config": {"dataplane": plane}}
    workflow = load_document({**DOCUMENT, "infrastructure": infrastructure}, tmp_path)
    engine.start(workflow, results, command=["test"], listener=Listener())
    killer.join(60)
    assert len(killed) == 1
    (folder,) = results.iterdir()
    (record,) = RunStore(folder).trials()
    # ping itself was content: it had replies, and packets enough had crossed the chain.
    assert "bytes from" in (folder / record.raw / "attempt-1" / "ping.txt").read_text()
    assert (record.status, record.samples) == ("failed", ())
    assert "broke during the measurement" in record.reasons[0]
    culprit = "fwd-1" if command == "sfc-forwarder" else "the SFF of node1"
    assert f"{culprit}: {command} " in record.reasons[0]
    (failed,) = record.failed_attempts
    crashed = ("crash", ("fwd-1",)) if command == "sfc-forwarder" else ("deployment", ())
    assert (failed.kind, failed.functions) == crashed
    assert "control group" not in record.reasons[0]


def _groups(tag: str, instance: str) -> list[Path]:
    """The control group of an instance, in each hierarchy."""
    groups = [parent / f"sfcperf-{tag}" / instance for parent in {*this_machine().parents.values()}]
    assert all(group.is_dir() for group in groups)
    return groups


def _delete_namespace(instance: str, tag: str) -> None:
    subprocess.run(["ip", "netns", "delete", f"sfcperf-{tag}-{instance}"], check=True)


def _set(limits: dict[str, str], tag: str) -> None:
    """Write these files of the function's control group, on the version that is mounted here."""
    files = [group / name for group in _groups(tag, "fwd-1") for name in limits]
    written = [file.write_text(limits[file.name]) for file in files if file.exists()]
    assert written


def _move_out(tag: str) -> None:
    """All processes of the function, into the group of sfcperf."""
    for group in _groups(tag, "fwd-1"):
        for pid in (group / "cgroup.procs").read_text().split():
            (group.parents[1] / "cgroup.procs").write_text(pid)


def _remove_group(tag: str) -> None:
    _move_out(tag)
    for group in _groups(tag, "fwd-1"):
        group.rmdir()


def _run_out_of_memory(tag: str) -> None:
    """Another process in the function's group takes more than all of its memory."""
    join = "".join(f"echo 0 >{group}/cgroup.procs; " for group in _groups(tag, "fwd-1"))
    hog = f"echo 1000 >/proc/self/oom_score_adj; {join}exec tail /dev/zero"
    assert subprocess.run(["sh", "-c", hog], capture_output=True).returncode == -signal.SIGKILL


KERNEL = {"type": "firewall"}
SMALL = DOCUMENT["vnfs"]["fwd"] | {"resources": {"memory_mib": 32}}
"""Its memory is full long before the ping ends, also on a busy machine."""
MIB = str(1 << 20)


@pytest.mark.gate_runs(2)
@pytest.mark.parametrize(
    ("vnf", "breaks", "told"),
    [
        (None, partial(_delete_namespace, "fwd-1"), "fwd-1: its network namespace"),
        (SMALL, _run_out_of_memory, "fwd-1: it ran out of memory ("),
        (None, _remove_group, "fwd-1: its control group is gone"),
        (KERNEL, partial(_delete_namespace, "fwd-1"), "fwd-1: its network namespace"),
        (None, partial(_delete_namespace, "server"), "server: its network namespace"),
        (
            KERNEL,
            partial(_set, {"memory.limit_in_bytes": MIB, "memory.max": MIB}),
            " of its control group is 1048576, not ",
        ),
        (
            None,
            partial(_set, {"cpuset.cpus": "0-1"}),
            "fwd-1: cpuset.cpus of its control group is ",
        ),
        (KERNEL, _remove_group, "fwd-1: its control group is gone"),
        (None, _move_out, "fwd-1: sfc-forwarder has left its control group"),
    ],
    ids=[
        "namespace",
        "out-of-memory",
        "group",
        "namespace-without-processes",
        "namespace-of-an-endpoint",
        "memory-limit",
        "cpus",
        "group-without-processes",
        "moved-out",
    ],
)
def test_what_breaks_in_the_middle_is_built_anew(
    tmp_path: Path, vnf: dict[str, Any] | None, breaks: Callable[[str], None], told: str
) -> None:
    """Packets still cross most of these chains."""
    document = DOCUMENT | {"design": {"rounds": 1, "warmup_rounds": 0, "max_retries": 1}}
    document["probes"] = [DOCUMENT["probes"][0] | {"count": 2 * LATE}]
    if vnf is not None:
        document["vnfs"] = {"fwd": vnf}
    results = tmp_path / "results"
    broken = threading.Thread(target=lambda: breaks(_when_late(results)))
    broken.start()
    engine.start(load_document(document, tmp_path), results, command=["test"], listener=Listener())
    broken.join(60)
    (folder,) = results.iterdir()
    (record,) = RunStore(folder).trials()
    assert (record.status, record.attempts) == ("valid", 2), record.reasons
    assert record.deployment["id"].startswith("d0002-")
    (failed,) = record.failed_attempts
    assert failed.kind in ("crash", "deployment")
    assert "broke during the measurement" in failed.reason
    assert told in failed.reason
    assert left_by(folder) == []
