"""The firewall between two raw ends, its rules as nft and iptables list them."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Packet, Raw
from support.network.wires import Lab
from support.vnfs.kernel_lab import CLIENT, SERVER, Between

from sfcperf.vnfs.firewall.function import Firewall

pytestmark = pytest.mark.root

ENGINES = ["nftables", "iptables", "iptables-legacy"]
LISTING = {
    "nftables": ["nft", "list", "table", "ip", "sfcperf-firewall"],
    "iptables": ["iptables-nft", "--list-rules"],
    "iptables-legacy": ["iptables-legacy", "--list-rules"],
}
FLUSH = {
    "nftables": [["nft", "flush", "ruleset"]],
    "iptables": [["iptables-nft", "--flush"], ["iptables-nft", "--delete-chain"]],
    "iptables-legacy": [["iptables-legacy", "--flush"], ["iptables-legacy", "--delete-chain"]],
}


def _packets(count: int) -> list[Packet]:
    payload = Raw(b"x" * 100)
    return [
        IP(src=CLIENT, dst=SERVER) / (TCP(dport=80) if number % 2 else UDP(dport=53)) / payload
        for number in range(count)
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_packet_meets_the_last_of_all_rules(lab: Lab, engine: str) -> None:
    """They come and go with the firewall, which says when they are gone."""
    between = Between(lab, Firewall, {"engine": engine, "rules": 1000})
    arrived = between.there(*_packets(10))
    assert [packet[IP].payload.name for packet in arrived] == ["UDP", "TCP"] * 5
    assert len(between.back(IP(src=SERVER, dst=CLIENT) / UDP(sport=53, dport=9))) == 1
    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (11, 11, 0)
    assert counters["passed_all_rules"] == 11
    assert between.function.problem() is None
    assert _listing(between, engine).count("240.0.") == 1000
    for _ in range(2):
        between.function.stop()
        assert "240.0.0" not in _listing(between, engine)
        assert "sfcperf" not in _listing(between, engine)
    between.function = between.restart()
    assert len(between.there(*_packets(1))) == 1
    for argv in FLUSH[engine]:
        between.host.run(argv, timeout_s=10)
    assert str(between.function.problem()).startswith("the firewall's rules are gone")


def _listing(between: Between, engine: str) -> str:
    return between.host.run(LISTING[engine], timeout_s=10, check=False).text


@pytest.mark.parametrize("engine", ENGINES)
def test_default_drop_lets_nothing_through(lab: Lab, engine: str) -> None:
    """With no other rule."""
    between = Between(lab, Firewall, {"engine": engine, "rules": 0, "default": "drop"})
    assert between.there(*_packets(4)) == []
    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (4, 0, 4)
    assert (counters["dropped_by_rules"], counters["passed_all_rules"]) == (4, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", ENGINES)
def test_as_many_rules_as_there_may_be(lab: Lab, engine: str) -> None:
    between = Between(lab, Firewall, {"engine": engine, "rules": 100_000})
    assert len(between.there(*_packets(2))) == 2
    assert between.function.counters()["passed_all_rules"] == 2


def test_rules_of_the_host_stay(lab: Lab) -> None:
    between = Between(lab, Firewall, {"engine": "iptables", "rules": 5})
    between.host.run(["iptables-nft", "-A", "INPUT", "-s", "192.0.2.1", "-j", "DROP"], timeout_s=10)
    between.function.stop()
    assert "-A INPUT -s 192.0.2.1/32 -j DROP" in _listing(between, "iptables")
