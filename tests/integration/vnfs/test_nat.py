"""The NAT between two raw ends: scapy says what left and came back, conntrack what it keeps."""

from __future__ import annotations

from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Packet, Raw
from support.network.wires import Lab
from support.vnfs.kernel_lab import CLIENT, SERVER, Between

from sfcperf.vnfs.nat.function import Nat

pytestmark = pytest.mark.root

DATA = Raw(b"data of the client")


def _valid(packet: Packet) -> bool:
    """Whether the checksums are what scapy computes anew."""
    anew = packet[IP].copy()
    del anew.chksum
    if hasattr(anew.payload, "chksum"):
        del anew.payload.chksum
    return bytes(anew) == bytes(packet[IP])


def _translated(between: Between, kind: Any, asked: int, served: int) -> int:
    """A packet to a port of the server, which sees another, and the reply: the client's port as the
    server sees it."""
    flags = {"flags": "S"} if kind is TCP else {}
    [out] = between.there(
        IP(src=CLIENT, dst=SERVER) / kind(sport=40000, dport=asked, **flags) / DATA
    )
    assert (out[IP].src, out[IP].dst, out[kind].dport) == (CLIENT, SERVER, served)
    assert _valid(out)
    flags = {"flags": "SA", "ack": 1} if kind is TCP else {}
    reply = IP(src=SERVER, dst=CLIENT) / kind(sport=served, dport=out[kind].sport, **flags)
    [home] = between.back(reply)
    assert (home[kind].sport, home[kind].dport) == (asked, 40000)
    assert _valid(home)
    return int(out[kind].sport)


def test_ports_are_translated_and_back(lab: Lab) -> None:
    between = Between(lab, Nat, {"first_port": 2000, "last_port": 2999})
    ports = [_translated(between, kind, 9, 9) for kind in (TCP, UDP)]
    assert all(2000 <= port <= 2999 for port in ports)
    counters = between.function.counters()
    assert (counters["translated_source"], counters["translated_destination"]) == (4, 0)
    assert (counters["untracked"], counters["dropped"]) == (0, 0)
    kept = between.host.run(["conntrack", "-L"], timeout_s=10).text
    assert "sport=40000 dport=9" in kept
    assert all(f"sport=9 dport={port}" in kept for port in ports)


def test_identifiers_of_pings_are_translated_and_icmp_errors_find_their_connection(
    lab: Lab,
) -> None:
    between = Between(lab, Nat, {})
    [out] = between.there(IP(src=CLIENT, dst=SERVER) / ICMP(id=50000, seq=1) / DATA)
    assert 1024 <= out[ICMP].id <= 32767
    answer = ICMP(type="echo-reply", id=out[ICMP].id, seq=1)
    [home] = between.back(IP(src=SERVER, dst=CLIENT) / answer / DATA)
    assert home[ICMP].id == 50000
    assert between.function.counters()["translated_source"] == 2
    [out] = between.there(IP(src=CLIENT, dst=SERVER) / UDP(sport=40000, dport=9) / DATA)
    error = ICMP(type="dest-unreach", code="port-unreachable") / bytes(out[IP])[:28]
    [home] = between.back(IP(src=SERVER, dst=CLIENT) / error)
    assert home[ICMP].payload.sport == 40000
    between.check_loss_of_rules("the NAT's rules are gone")


def test_source_and_destination(lab: Lab) -> None:
    between = Between(lab, Nat, {"virtual_port": 80, "server_port": 8080})
    assert all(_translated(between, kind, 80, 8080) <= 32767 for kind in (TCP, UDP))
    counters = between.function.counters()
    assert (counters["translated_source"], counters["translated_destination"]) == (4, 4)


@pytest.mark.parametrize("check", [False, True])
def test_a_trailer_behind_udp_is_translated_unless_checksums_are_checked(
    lab: Lab, check: bool
) -> None:
    between = Between(lab, Nat, {"check_checksums": check})
    datagram = bytes(
        IP(src=CLIENT, dst=SERVER, len=20 + 8 + 18 + 6) / UDP(sport=40000, dport=9, len=26) / DATA
    )
    datagram += b"\xfe\x06\x50\x50\x01\x07"
    packet = IP(datagram)
    # UDP's checksum covers the datagram alone.
    packet[UDP].chksum = IP(bytes(IP(src=CLIENT, dst=SERVER) / UDP(sport=40000, dport=9) / DATA))[
        UDP
    ].chksum
    [out] = between.there(packet)
    assert bytes(out[IP])[-6:] == datagram[-6:]
    assert (out[UDP].sport == 40000) is check
    assert between.function.counters()["untracked"] == int(check)


def test_what_finds_no_port_is_counted_as_dropped(lab: Lab) -> None:
    between = Between(lab, Nat, {"first_port": 2000, "last_port": 2000})
    syns = [IP(src=CLIENT, dst=SERVER) / TCP(sport=40000 + n, dport=80) for n in range(5)]
    assert len(between.there(*syns)) == 1
    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (5, 1, 4)
    assert (counters["dropped_untranslated"], counters["dropped_no_room"]) == (4, 0)
