"""The router between two raw ends."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from support.network.wires import Lab, eventually, ip, space
from support.vnfs.kernel_lab import CLIENT, SERVER, Between

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.kernel_forwarding import KernelForwarding
from sfcperf.vnfs.router.function import Router

pytestmark = pytest.mark.root


@pytest.fixture
def between(lab: Lab) -> Between:
    made = Between(lab, Router, {})
    assert isinstance(made.function, KernelForwarding)
    return made


def _packet(source: str, destination: str, ttl: int = 64) -> Packet:
    return IP(src=source, dst=destination, ttl=ttl) / UDP(sport=1, dport=9) / Raw(b"crossing")


def test_forwards_both_ways(between: Between) -> None:
    [there] = between.there(_packet(CLIENT, SERVER))
    assert (there.src, there.dst) == (between.egress.mac, between.server.mac)
    assert (there[IP].src, there[IP].dst, there[IP].ttl) == (CLIENT, SERVER, 63)
    checksum = there[IP].chksum
    del there[IP].chksum
    assert IP(bytes(there[IP])).chksum == checksum

    [back] = between.back(_packet(SERVER, CLIENT))
    assert (back.src, back.dst, back[IP].ttl) == (between.ingress.mac, between.client.mac, 63)

    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (2, 2, 0)
    assert between.function.problem() is None


def test_counts_what_it_cannot_forward(between: Between) -> None:
    wire = between.client.wire()
    between.lab.at_end(wire.close)
    expired = Ether(src=between.client.mac, dst=between.ingress.mac) / _packet(CLIENT, SERVER, 1)
    wire.send([bytes(expired)] * 3)
    assert eventually(lambda: between.function.counters()["dropped_header"] == 3)
    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (3, 0, 3)


def test_says_what_is_wrong(between: Between) -> None:
    router = space(between.ingress.host)
    ip("-n", router, "link", "set", "out0", "down")
    assert between.function.problem() == f"the route to {SERVER} by out0 is gone"
    between.function.stop()
    assert between.function.problem() == "IPv4 forwarding was turned off"


def test_start_fails_with_a_reason(lab: Lab, between: Between) -> None:
    with pytest.raises(DeploymentError, match="in0"):
        Router.start(lab.host("empty"), between.attachment, {})
