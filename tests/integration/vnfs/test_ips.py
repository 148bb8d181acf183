"""The IPS between two raw ends: what looks like an attack does not arrive, all else does.

Suricata runs where it is installed; SURICATA_CONFIG names another configuration than its package's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Packet, Raw
from support.needs import skip_unless
from support.network.wires import Lab, eventually
from support.vnfs.kernel_lab import CLIENT, SERVER, Between

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.ips import suricata
from sfcperf.vnfs.ips.function import PATTERNS, Ips

pytestmark = pytest.mark.root

CONFIG = os.environ.get("SURICATA_CONFIG", suricata.CONFIG)


def _chosen(engine: str) -> dict[str, Any]:
    chosen = {"engine": engine, "config": CONFIG}
    skip_unless(*Ips.requirements(chosen))
    if engine == "suricata" and not Path(CONFIG).exists():
        pytest.skip(f"{CONFIG} is not there")
    return chosen


@pytest.fixture(params=["nftables", "suricata"])
def knobs(request: pytest.FixtureRequest) -> dict[str, Any]:
    return _chosen(request.param)


@pytest.fixture
def of_suricata() -> dict[str, Any]:
    return _chosen("suricata")


def _datagram(data: str, port: int = 9) -> Packet:
    return IP(src=CLIENT, dst=SERVER) / UDP(sport=5000 + port, dport=port) / Raw(data.encode())


def test_patterns_do_not_pass(lab: Lab, knobs: dict[str, Any]) -> None:
    between = Between(lab, Ips, knobs)
    harmless = [_datagram(f"harmless {n}", 100 + n) for n in range(10)]
    attacks = [_datagram(f"begin {text} end", 200 + n) for n, text in enumerate(PATTERNS)]
    arrived = between.there(*harmless[:5], *attacks, *harmless[5:])
    assert [bytes(p[Raw]) for p in arrived] == [bytes(p[Raw]) for p in harmless]
    assert between.back(IP(src=SERVER, dst=CLIENT) / UDP() / Raw(PATTERNS[0].encode())) == []
    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"]) == (23, 10)
    assert counters["dropped"] == counters["dropped_by_ips"] == 13
    assert between.function.problem() is None
    if knobs["engine"] == "suricata":
        assert counters["inspected"] == 23


def test_impossible_flags_do_not_pass(lab: Lab) -> None:
    """And it says when packets do not reach it any more."""
    between = Between(lab, Ips, {"engine": "nftables"})
    segments = [
        IP(src=CLIENT, dst=SERVER) / TCP(sport=6000 + n, dport=80, flags=flags)
        for n, flags in enumerate(["S", "", "FPU", "SF", "SR", "A", "R", "PA"])
    ]
    arrived = between.there(*segments)
    assert [str(packet[TCP].flags) for packet in arrived] == ["S", "A", "R", "PA"]
    assert between.function.counters()["dropped_flags"] == 4
    between.host.run(["iptables-nft", "--flush", "FORWARD"], timeout_s=10)
    assert between.function.problem() == "the IPS's rules are gone"
    # What is left of them goes all the same, and is not there twice after another start.
    between.function = between.restart()
    between.there(_datagram("harmless"))
    assert between.function.counters()["forwarded"] == 1
    between.host.run(["iptables-nft", "--flush", "FORWARD"], timeout_s=10)
    between.function.stop()
    assert "sfcperf" not in between.host.run(["iptables-nft-save"], timeout_s=10).text


def test_too_many_new_connections_do_not_pass(lab: Lab) -> None:
    between = Between(lab, Ips, {"engine": "nftables", "new_connections_per_s": 10})
    syns = [IP(src=CLIENT, dst=SERVER) / TCP(sport=7000 + n, dport=80) for n in range(200)]
    arrived = between.there(*syns)
    counters = between.function.counters()
    assert 10 <= len(arrived) < 200
    assert counters["dropped_rate"] == 200 - len(arrived)


def test_says_when_it_is_gone_and_takes_everything_away(lab: Lab, knobs: dict[str, Any]) -> None:
    between = Between(lab, Ips, knobs)
    between.function.stop()
    saved = between.host.run(["iptables-nft-save"], timeout_s=10).text
    assert "sfcperf" not in saved
    between.function = between.restart()
    assert len(between.there(_datagram("harmless"))) == 1
    between.host.run(["nft", "flush", "ruleset"], timeout_s=10)
    assert between.function.problem() == "the IPS's rules are gone"


def test_suricata_that_dies_lets_nothing_through(lab: Lab, of_suricata: dict[str, Any]) -> None:
    between = Between(lab, Ips, of_suricata)
    between.function._inspector._process.send_signal(9)  # type: ignore[attr-defined]
    assert eventually(lambda: between.function.problem() is not None)
    assert between.function.problem() == "Suricata has ended with status -9"
    assert between.there(_datagram("harmless")) == []


def test_suricata_that_cannot_start_says_why(
    lab: Lab, of_suricata: dict[str, Any], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("%YAML 1.1\n---\na: [\n")
    with pytest.raises(
        DeploymentError, match=r"Suricata takes no packets; it said: .*Failed to parse"
    ):
        Between(lab, Ips, {**of_suricata, "config": str(broken)})


def test_auto_is_what_is_there(lab: Lab, knobs: dict[str, Any]) -> None:
    between = Between(lab, Ips, {**knobs, "engine": "auto"})
    assert len(between.there(_datagram("harmless"), _datagram(PATTERNS[1], 10))) == 1
