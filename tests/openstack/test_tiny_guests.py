"""VMs of busybox, dropbear and iperf3: what a run needs is carried there."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import CloudLab, workflow

pytestmark = [pytest.mark.server, pytest.mark.exhaustive]

PROBES = [
    {"probe": "ping", "count": 10, "interval_s": 0.2},
    {"probe": "iperf3", "protocol": "tcp", "duration_s": 2},
]


def test_a_chain_of_tiny_guests_is_measured(
    cloud: Connection, new_lab: Callable[..., CloudLab]
) -> None:
    document = workflow(cloud.config.name, image="sfcperf-tiny")
    # Their kernel has no modules for NSH.
    document["chain"]["encapsulation"] = "mpls"
    lab = new_lab({**document, "probes": PROBES, "factors": {"protocol": ["any"]}})
    assert lab.run() == 0, lab.said
    assert lab.trials == [("r001-s000-iperf3-tcp", "valid"), ("r001-s000-ping", "valid")]
    lines = (lab.run_folder / "trials.jsonl").read_text().splitlines()
    deployment = json.loads(lines[0])["deployment"]
    assert deployment["traversal"]["proven"]
    carried = deployment["facts"]["provided_tools"]
    assert set(carried) == {"client", "server", "fwd-1"}
    assert {"ip", "tcpdump"} <= set(carried["fwd-1"])
    assert "iperf3" not in carried["server"]
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
