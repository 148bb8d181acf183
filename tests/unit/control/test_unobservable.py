"""Monitors that cannot observe a chain: refused before a run, or not tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.local import small_workflow

from sfcperf.control.validation import validate
from sfcperf.errors import WorkflowError
from sfcperf.workflow.load import load_document


def check(tmp_path: Path, monitor: dict[str, Any], plane: Any, driver: str = "local") -> None:
    config = {"dataplane": plane} if driver == "local" else {"image": "i", "flavor": "f"}
    document = small_workflow(
        infrastructure={"driver": driver, "config": config},
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


def test_one_sff_that_counts_is_enough(tmp_path: Path) -> None:
    check(tmp_path, {"monitor": "sff"}, {"node1": "ovs", "node2": "ebpf"})
