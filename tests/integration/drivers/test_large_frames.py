"""Frames that are larger than Ethernet's, once they are encapsulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.local import local_driver
from support.network.echoes import ping
from support.records.scenarios import scenario, topology

from sfcperf.active.pktgen import PktgenLoad
from sfcperf.drivers.sff.layout import GPE_OVERHEAD, LARGEST_WIRE_MTU
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root

PINGS = 5
HEADERS = 20 + 8
PACKETS = 100
"""Of pktgen, at as many per second, for a second."""

MIXED = {"node1": "ovs", "node2": "ebpf"}
ON_BMV2 = pytest.param("bmv2", marks=[pytest.mark.bmv2, pytest.mark.exhaustive])
RFC_2544 = (1500, 1500 + GPE_OVERHEAD)
LARGEST = (LARGEST_WIRE_MTU - GPE_OVERHEAD, LARGEST_WIRE_MTU)


@pytest.mark.gate_runs("pairwise")
@pytest.mark.parametrize("dataplane", ["ebpf", "ovs", MIXED, ON_BMV2], ids=str)
@pytest.mark.parametrize("encapsulation", ["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize("sizes", [RFC_2544, LARGEST], ids=["rfc2544", "largest"])
def test_the_largest_packet_crosses_both_ways(
    tmp_path: Path, sizes: tuple[int, int], encapsulation: Any, dataplane: Any
) -> None:
    """No fragments, functions of each kind, and both data planes in one chain."""
    mtu, wire_mtu = sizes
    chain = scenario(
        ["forwarder", "router", "forwarder"], where=topology("T2"), encapsulation=encapsulation
    )
    with local_driver(tmp_path, dataplane, mtu=mtu, wire_mtu=wire_mtu) as driver:
        deployment = driver.deploy(chain)
        assert driver.prove_traversal(deployment, chain).problems == ()
        listing = deployment.client.host.run(["ip", "-j", "link", "show", "eth0"], timeout_s=10)
        assert json.loads(listing.stdout)[0]["mtu"] == mtu
        assert ping(deployment, PINGS, "-M", "do", "-s", str(mtu - HEADERS)) == PINGS


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("dataplane", ["ebpf", "ovs", ON_BMV2])
def test_frames_of_rfc_2544(tmp_path: Path, dataplane: str) -> None:
    """1518 bytes with the frame check sequence, as pktgen sends them, through VXLAN-GPE."""
    mtu, wire_mtu = RFC_2544
    chain = scenario(["forwarder"], encapsulation="nsh-vxlan-gpe")
    load = PktgenLoad(with_defaults(PktgenLoad.parameters, {"frame_bytes": 1518}))
    with local_driver(tmp_path, dataplane, mtu=mtu, wire_mtu=wire_mtu) as driver:
        try:
            load.prepare(deployment := driver.deploy(chain), tmp_path)
            outcome = load.offer(deployment, tmp_path, PACKETS, 1.0)
        finally:
            load.cleanup()
    assert (outcome.sent, outcome.received) == (PACKETS, PACKETS)
