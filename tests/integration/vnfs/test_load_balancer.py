"""The load balancer between two raw ends: which backend gets which connection."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Packet
from support.network.wires import Lab
from support.vnfs.counting import counted
from support.vnfs.kernel_lab import CLIENT, SERVER, Between

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.load_balancer.engines import Ipvs
from sfcperf.vnfs.load_balancer.function import LoadBalancer

pytestmark = pytest.mark.root

PORTS = [8081, 8082, 8083]
NFTABLES = {"backends": PORTS, "engine": "nftables"}


def _syns(count: int, port: int = 80) -> list[Packet]:
    return [
        IP(src=CLIENT, dst=SERVER) / TCP(sport=40000 + number, dport=port, flags="S", seq=number)
        for number in range(count)
    ]


def test_each_backend_in_turn_and_replies_from_the_port_that_was_asked(lab: Lab) -> None:
    between = Between(lab, LoadBalancer, NFTABLES)
    with counted(between.function) as seen:
        out = between.there(*_syns(9))
        assert Counter(packet[TCP].dport for packet in out) == dict.fromkeys(PORTS, 3)
        replies = [
            IP(src=SERVER, dst=CLIENT)
            / TCP(sport=p[TCP].dport, dport=p[TCP].sport, flags="SA", ack=p[TCP].seq + 1)
            for p in out
        ]
        assert {packet[TCP].sport for packet in between.back(*replies)} == {80}
    assert seen["balanced"] == 18
    assert [seen[f"connections_port{port}"] for port in PORTS] == [3, 3, 3]
    # A connection stays with its backend.
    datagrams = [IP(src=CLIENT, dst=SERVER) / UDP(sport=5000, dport=80)] * 6
    with counted(between.function) as seen:
        assert len({packet[UDP].dport for packet in between.there(*datagrams)}) == 1
        between.there(*_syns(2))
    assert seen["balanced"] == 8
    assert sum(seen.get(f"connections_port{port}", 0) for port in PORTS) == 1
    # Other ports are forwarded as they are.
    with counted(between.function) as seen:
        assert [packet[TCP].dport for packet in between.there(*_syns(2, port=22))] == [22, 22]
    assert (seen["forwarded"], "balanced" in seen) == (2, False)
    between.check_loss_of_rules("nothing is balanced any more")


def test_the_hash_knows_a_connection_again(lab: Lab) -> None:
    between = Between(lab, LoadBalancer, {**NFTABLES, "scheduler": "hash"})
    first = {p[TCP].sport: p[TCP].dport for p in between.there(*_syns(60))}
    assert set(first.values()) == set(PORTS)
    between.host.run(["conntrack", "-F"], timeout_s=10)
    assert {p[TCP].sport: p[TCP].dport for p in between.there(*_syns(60))} == first


def test_auto_is_ipvs_where_it_is_there(lab: Lab) -> None:
    """What is not there is asked for in vain: refused with the kernel's words."""
    has_ipvs = all(need.met for need in Ipvs.requirements())
    knobs: dict[str, Any] = {"backends": PORTS}
    between = Between(lab, LoadBalancer, {**knobs, "engine": "auto"})
    out = between.there(*_syns(6))
    assert Counter(packet[TCP].dport for packet in out) == dict.fromkeys(PORTS, 2)
    if has_ipvs:
        assert SERVER in between.host.run(["ipvsadm", "-L", "-n"], timeout_s=10).text
        return
    assert "numgen" in between.host.run(["nft", "list", "ruleset"], timeout_s=10).text
    with pytest.raises(DeploymentError, match="ipvsadm"):
        LoadBalancer.start(between.host, between.attachment, {**between.knobs, "engine": "ipvs"})
    assert "1532" not in between.host.run(["ip", "rule"], timeout_s=10).text
