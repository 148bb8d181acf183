"""Validation: monitors that cannot observe a chain are refused, a warning says where they see
nothing, and nothing is created, so that even a kill leaves nothing."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.engine import Bench, in_child
from support.local import small_workflow

from sfcperf.control.validation import validate, warnings
from sfcperf.errors import WorkflowError
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario


def check(tmp_path: Path, monitor: dict[str, Any], plane: Any) -> None:
    document = small_workflow(
        infrastructure={"driver": "local", "config": {"dataplane": plane}},
        topology={
            "nodes": {"node1": {}, "node2": {}},
            "links": [{"between": ["node1", "node2"]}],
            "placement": {"chain": "node1"},
        },
        endpoints={"client": {"node": "node1"}, "server": {"node": "node2"}},
        chain={"functions": [{"vnf": "fwd", "node": "node1"}]},
        monitors=[{"monitor": "cpu"}, monitor],
    )
    validate(load_document(document, tmp_path))


@pytest.mark.parametrize(
    ("monitor", "plane", "where", "message"),
    [
        ({"monitor": "sff"}, "ovs", "/monitors/1", "no SFF of this deployment counts"),
        (
            {"monitor": "sfcmon", "at": "sffs", "nodes": ["node1", "node3"]},
            "ebpf",
            "/monitors/1/nodes/1",
            "there is no node 'node3'",
        ),
    ],
    ids=["sff", "sfcmon"],
)
def test_it_is_refused(
    tmp_path: Path, monitor: dict[str, Any], plane: str, where: str, message: str
) -> None:
    with pytest.raises(WorkflowError, match=message) as raised:
        check(tmp_path, monitor, plane)
    assert raised.value.where == where


@pytest.mark.parametrize("plane", ["ebpf", "ovs", {"node1": "ovs", "node2": "ebpf"}])
def test_both_data_planes_can_be_monitored(tmp_path: Path, plane: Any) -> None:
    check(tmp_path, {"monitor": "sfcmon", "at": "sffs"}, plane)
    check(tmp_path, {"monitor": "sfcmon", "at": "both", "nodes": ["node2"]}, plane)
    if plane != "ovs":  # One SFF that counts is enough.
        check(tmp_path, {"monitor": "sff"}, plane)


PING: dict[str, Any] = {"probe": "ping"}
TCP: dict[str, Any] = {"probe": "iperf3", "protocol": "tcp"}
PPTMON: dict[str, Any] = {"monitor": "pptmon"}
BACKGROUND: dict[str, Any] = {"monitor": "background"}


def warned(tmp_path: Path, probes: list[Any], monitors: list[Any]) -> list[str]:
    document = small_workflow(
        chain={"functions": [{"vnf": "fwd", "count": "${n}"}]},
        factors={"n": [0, 1, 2]},
        probes=probes,
        monitors=monitors,
    )
    return warnings(load_document(document, tmp_path))


@pytest.mark.parametrize(
    ("probes", "monitors", "carriers"),
    [
        ([PING], [PPTMON], "TCP or UDP packets"),
        ([PING, TCP], [{**PPTMON, "filter": {"protocol": "udp"}}], "UDP packets"),
    ],
    ids=["ping", "filter"],
)
def test_pptmon_warns_where_no_packet_carries_samples(
    tmp_path: Path, probes: list[Any], monitors: list[Any], carriers: str
) -> None:
    (line,) = warned(tmp_path, probes, monitors)
    assert line.startswith("warning: /monitors/0: pptmon will take no samples: " + carriers)
    # The baseline has no VNFs that could be seen.
    assert line.endswith("(in 2 of 3 scenarios)")


@pytest.mark.parametrize(
    ("probes", "monitors"),
    [
        ([PING, TCP], [PPTMON]),
        ([PING], [PPTMON, BACKGROUND]),
        ([PING], [{**PPTMON, "carrier": "nsh"}]),
        ([PING], [{"monitor": "cpu"}]),
    ],
    ids=["tcp", "background", "nsh", "no pptmon"],
)
def test_nothing_is_warned_about_elsewhere(
    tmp_path: Path, probes: list[Any], monitors: list[Any]
) -> None:
    assert warned(tmp_path, probes, monitors) == []


def test_a_kill_leaves_no_temporary_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def die(config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    workflow = load_document(bench.document(), tmp_path)
    monkeypatch.setattr("support.fakes.FakeDriver.validate", die)
    assert in_child(lambda: validate(workflow)) == -signal.SIGKILL
    assert list(temporary.iterdir()) == []
