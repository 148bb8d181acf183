"""The router between two raw ends."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Packet, Raw
from support.network.wires import Lab, ip, space
from support.vnfs.kernel_lab import CLIENT, SERVER, Between

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.router.function import Router

pytestmark = pytest.mark.root


def _packet(source: str, destination: str, ttl: int = 64) -> Packet:
    return IP(src=source, dst=destination, ttl=ttl) / UDP(sport=1, dport=9) / Raw(b"crossing")


def test_forwards_both_ways_counts_what_it_cannot_and_says_what_is_wrong(lab: Lab) -> None:
    between = Between(lab, Router, {})
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

    assert between.there(*[_packet(CLIENT, SERVER, ttl=1)] * 3) == []
    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (5, 2, 3)
    assert counters["dropped_header"] == 3

    assert between.function.problem() is None
    ip("-n", space(between.host), "link", "set", "out0", "down")
    assert between.function.problem() == f"the route to {SERVER} by out0 is gone"
    between.function.stop()
    assert between.function.problem() == "IPv4 forwarding was turned off"
    with pytest.raises(DeploymentError, match="in0"):
        Router.start(lab.host("empty"), between.attachment, {})
