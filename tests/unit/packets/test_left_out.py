"""Why frames are left out is counted, told, and doubted where it is too many."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, STP, Dot1Q, Dot3, Ether
from scapy.packet import Packet

from sfcperf.packets.left_out import LeftOutCounts, reason_of
from sfcperf.vnfs.sfcmon.simulation import TraceEnd


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (Ether() / ARP(), "ethertype_0x0806"),
        (Ether() / Dot1Q() / Dot1Q() / ARP(), "ethertype_0x0806"),
        (Ether(type=0x8847) / MPLS() / IP() / UDP(), "ethertype_0x8847"),
        (Ether() / Dot1Q() / IP(len=0) / UDP(), "ipv4_length_0"),
        (Ether(bytes(Ether() / IP() / UDP())[:30]), "headers"),
        (Ether(bytes(Ether() / Dot1Q())[:15]), "headers"),
    ],
)
def test_reasons(packet: Packet, reason: str) -> None:
    assert reason_of(bytes(packet)) == reason


def test_a_line_says_how_many_of_how_many() -> None:
    for left, total in (({"ipv4_length_0": 20}, 20), ({"nsh": 1, "training": 2}, 3)):
        (line,) = LeftOutCounts(left).lines(30)
        assert line.startswith(f"{total} of 30 frames")
    assert list(LeftOutCounts({"headers": 0}).lines(30)) == []
    end = asdict(TraceEnd(9, LeftOutCounts(headers=3), 0, False, 0, 0, 0))
    assert json.loads(json.dumps(end))["left_out"] == {"headers": 3}


@given(st.dictionaries(st.integers(0, 65535), st.integers(1, 99), max_size=9))
def test_any_ethertype_has_words(found: dict[int, int]) -> None:
    left = LeftOutCounts({f"ethertype_0x{number:04x}": count for number, count in found.items()})
    assert len(list(left.lines(1000))) == bool(found)
    assert left.unread <= sum(found.values())


def test_what_hosts_say_to_each_other_is_not_doubtful() -> None:
    harmless = LeftOutCounts()
    for packet in (Ether() / ARP(), Dot3() / STP()):
        harmless.add(reason_of(bytes(packet)), 50)
    assert not list(harmless.doubts(100))
    for reason in ("ethertype_0x8847", "headers", "ipv4_length_0", "nsh"):
        few = LeftOutCounts(harmless | {reason: 1})
        assert not list(few.doubts(101))
        many = LeftOutCounts(harmless | {reason: 2})
        assert len(list(many.doubts(102))) == 1
        assert "2 of 102 frames" in next(many.doubts(102))
