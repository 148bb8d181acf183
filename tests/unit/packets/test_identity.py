"""Packets are told by what VNFs leave as it is; scapy makes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

from sfcperf.packets.identity import SNAPLEN, identity

payloads = st.binary(max_size=300)
ports = st.integers(1, 65535)


def of(packet: Packet) -> Any:
    return identity(bytes(packet)[:SNAPLEN])


@st.composite
def carried(draw: st.DrawFn) -> dict[str, Any]:
    """What stays: everything above the ports."""
    return {
        "transport": draw(st.sampled_from(["tcp", "udp", "icmp"])),
        "number": draw(st.integers(0, 65535)),
        "seq": draw(st.integers(0, 2**32 - 1)),
        "ack": draw(st.integers(0, 2**32 - 1)),
        "flags": draw(st.sampled_from(["S", "A", "PA", "FA"])),
        "payload": draw(payloads),
    }


@st.composite
def worn(draw: st.DrawFn) -> dict[str, Any]:
    """What changes from one side to the other."""
    host = st.integers(1, 254)
    return {
        "mac": f"02:00:00:00:00:{draw(host):02x}",
        "src": f"10.{draw(host)}.0.1",
        "dst": f"10.{draw(host)}.0.2",
        "ttl": draw(st.integers(1, 255)),
        "df": draw(st.sampled_from(["", "DF"])),
        "vlan": draw(st.booleans()),
        "sport": draw(ports),
        "dport": draw(ports),
        "options": draw(st.sampled_from([0, 12, 20, 40])),
        "trailer": draw(st.sampled_from([0, 8, 12])),
        "ip_options": draw(st.sampled_from([0, 4, 40])),
    }


def made(carried: dict[str, Any], worn: dict[str, Any]) -> Packet:
    options = Raw(b"\x01" * worn["ip_options"]) if worn["ip_options"] else []
    ends = {name: worn[name] for name in ("src", "dst", "ttl")}
    ip = IP(**ends, flags=worn["df"], id=carried["number"], options=options)
    ports, payload = {name: worn[name] for name in ("sport", "dport")}, carried["payload"]
    if carried["transport"] == "tcp":
        flags = {name: carried[name] for name in ("seq", "ack", "flags")}
        inside = TCP(**ports, options=[("NOP", None)] * worn["options"], **flags) / Raw(payload)
    elif carried["transport"] == "udp":
        trailer = b"\xfe" * worn["trailer"]
        inside = UDP(**ports, len=8 + len(payload)) / Raw(payload + trailer)
    else:
        inside = ICMP(id=worn["sport"], seq=carried["seq"] & 0xFFFF) / Raw(payload)
    frame = Ether(src=worn["mac"], dst=worn["mac"])
    return frame / Dot1Q(vlan=5) / ip / inside if worn["vlan"] else frame / ip / inside


@given(carried=carried(), before=worn(), after=worn())
def test_what_vnfs_change_does_not_matter(
    carried: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    known = of(made(carried, before))
    assert of(made(carried, after)) == known is not None


@given(one=carried(), other=carried(), worn=worn())
def test_what_differs_is_told_apart(
    one: dict[str, Any], other: dict[str, Any], worn: dict[str, Any]
) -> None:
    kept = {"tcp": ("seq", "ack", "flags"), "udp": (), "icmp": ()}
    names = ("transport", "number", *kept[one["transport"]])

    def told(packet: dict[str, Any]) -> list[Any]:
        sequence = packet["seq"] & 0xFFFF if packet["transport"] == "icmp" else None
        payload = packet["payload"]
        return [*(packet[name] for name in names), sequence, len(payload), payload[:16]]

    assume(told(one) != told(other))
    assert of(made(one, worn)) != of(made(other, worn))


def test_ipv6() -> None:
    def packet(seq: int, hop: int, *extension: Packet) -> Packet:
        found: Packet = Ether() / IPv6(src="fd00::1", dst="fd00::2", hlim=hop)
        for header in extension:
            found /= header
        return found / UDP(sport=hop, dport=2) / Raw(seq.to_bytes(4, "big") * 8)

    assert of(packet(1, 64)) == of(packet(1, 63))
    assert of(packet(1, 64)) != of(packet(2, 64))
    assert of(packet(1, 64, IPv6ExtHdrHopByHop())) == of(packet(1, 9, IPv6ExtHdrHopByHop()))
    first, second = (IPv6ExtHdrFragment(id=7, offset=offset, nh=17) for offset in (0, 5))
    assert of(packet(1, 64, first)) != of(packet(1, 64, second))


def test_fragments_of_ipv4_are_packets_of_their_own() -> None:
    def fragment(offset: int, more: str) -> Packet:
        return Ether() / IP(id=9, frag=offset, flags=more, proto=17) / Raw(b"x" * 64)

    told = {of(fragment(0, "MF")), of(fragment(8, "MF")), of(fragment(8, ""))}
    assert len(told) == 3
    assert None not in told


@pytest.mark.parametrize(
    "frame",
    [b"", b"\0" * 13, bytes(Ether() / ARP()), bytes(Ether() / IP() / TCP())[:40],
     bytes(Ether(type=0x0800) / Raw(b"\x65" + b"\0" * 60)),
     bytes(Ether(type=0x0800) / Raw(b"\x43" + b"\0" * 60)), bytes(Ether() / IP(len=22) / TCP())],
)  # fmt: skip
def test_what_cannot_be_told(frame: bytes) -> None:
    assert identity(frame) is None


@given(frame=st.binary(max_size=SNAPLEN))
def test_any_bytes_do_no_harm(frame: bytes) -> None:
    identity(frame)
    identity(b"\0" * 12 + b"\x08\x00" + frame)
    identity(b"\0" * 12 + b"\x86\xdd" + frame)
