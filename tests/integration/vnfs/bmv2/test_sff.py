"""The P4 switch on bmv2 as classifier and SFF: the model of sfc-sff, scapy and tshark judge it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import finsy
import pytest
from finsy.p4entity import P4TableEntry
from scapy.contrib.nsh import NSH
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.attacks.frames import UNPARSED
from support.network.frames_judge import judge
from support.vnfs.bmv2_bench import NUMBERS, PORT_SERVICE, TO, Bmv2Bench
from support.vnfs.malformed import cut_and_lengthened, damaged, judged, originals
from support.vnfs.sff_bench import (
    CLIENT,
    FAR_ADDRESS,
    FAR_NODE,
    FAR_SERVER,
    MTU,
    NODE,
    NODE_ADDRESS,
    NSH_SF,
    PLAIN_SF,
    PORT_BACK,
    PORT_CLIENT,
    PORT_LINK,
    PORT_NSH,
    PORT_PLAIN,
    PORT_SERVER,
    SERVER,
    on_ethernet,
    on_gpe,
)
from support.vnfs.sff_model import expected

pytestmark = [pytest.mark.root, pytest.mark.bmv2]

PATHS = {(0x010203 + place, 7): action for place, action in enumerate(TO)}
CLASSIFIED = (0x0A0B0C, 200)
RETURNED = (0x0D0E0F, 100)
FRAMES = 300
INNER = (
    Ether(src=CLIENT, dst=SERVER)
    / IP(src="198.18.0.1", dst="198.18.0.2")
    / UDP(sport=1, dport=9)
    / Raw(b"x" * 9)
)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bmv2Bench]:
    with Bmv2Bench() as bench:
        bench.paths(PATHS)
        bench.paths({CLASSIFIED: "nsh", RETURNED: "end"})
        bench.control.insert([_rule(1, version=4, protocol=17, destination_port=(5000, 5009))])
        back = finsy.Action("encapsulate", spi=RETURNED[0], si=RETURNED[1])
        match = finsy.Match(port=NUMBERS[PORT_BACK])
        bench.control.insert([P4TableEntry("returns", match=match, action=back)])
        yield bench


def _rule(priority: int, **match: object) -> P4TableEntry:
    fields = {
        name: (value, 0xFF) if name in ("version", "protocol") else value
        for name, value in match.items()
    }
    return P4TableEntry(
        "rules",
        match=finsy.Match(port=NUMBERS[PORT_CLIENT], **fields),
        action=finsy.Action("encapsulate", spi=CLASSIFIED[0], si=CLASSIFIED[1]),
        priority=priority,
    )


# --- what other nodes and SFs send ---


@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
def test_sound_frames_go_where_they_must(bench: Bmv2Bench, port: int) -> None:
    _, dropped = judged(bench, port, originals(port, PATHS, INNER), PATHS)
    # Those without a packet, where the NSH ends.
    assert set(dropped) == {"truncated"}


@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 6))]
)
def test_malformed_frames_are_dropped_and_counted(bench: Bmv2Bench, port: int, seed: int) -> None:
    chance = random.Random(seed)
    sound = originals(port, PATHS, INNER)
    frames = [damaged(chance.choice(sound), chance) for _ in range(FRAMES)]
    _, dropped = judged(bench, port, frames, PATHS)
    assert len(dropped) >= 5
    assert sum(dropped.values()) < FRAMES * 19 / 20


@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
def test_every_length(bench: Bmv2Bench, port: int) -> None:
    """Frames cut at each byte, and each value of the length field with each MD type."""
    frames = cut_and_lengthened(originals(port, PATHS, INNER)[:12:4], (0, 1, 2, 3, 15))
    _, dropped = judged(bench, port, frames, PATHS)
    assert {"truncated", "md_type", "length"} <= set(dropped)


def test_the_ttl(bench: Bmv2Bench) -> None:
    """Decremented, from 0 to 63; 1 is the end (RFC 8300, section 2.2)."""
    for ttl, left in ((0, 63), (1, None), (2, 1), (63, 62)):
        header = NSH(spi=0x010203, si=7, ttl=ttl, nextproto=3, context_header=bytes(16))
        if left is None:
            assert _dropped(bench, PORT_NSH, on_ethernet(header / INNER)) == {"ttl": 1}
            continue
        leaves, answer = bench.one(PORT_NSH, on_ethernet(header / INNER))
        seen = Ether(answer)[NSH]
        assert (leaves, seen.ttl, seen.si) == (PORT_NSH, left, 7)


def _dropped(bench: Bmv2Bench, port: int, *frames: Packet | bytes) -> Counter[str]:
    """By reason; and nothing comes out."""
    before = bench.drops()
    assert not any(bench.exchange(port, frames).values())
    return bench.drops() - before


def test_a_packet_without_ethernet_gets_one_towards_a_plain_sf(bench: Bmv2Bench) -> None:
    spi = 0x010203 + list(TO).index("plain")
    packets = {1: INNER[IP], 2: IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP()}
    for next_protocol, packet in packets.items():
        header = NSH(spi=spi, si=7, ttl=9, nextproto=next_protocol, context_header=bytes(16))
        frame = on_ethernet(header / packet)
        wanted = expected(PORT_NSH, bytes(frame), PATHS)
        assert bench.one(PORT_NSH, frame) == (PORT_PLAIN, wanted.frame)
        ether = Ether(wanted.frame)
        assert (ether.dst, ether.src) == (PLAIN_SF, NODE)


def test_what_is_larger_than_the_mtu_is_dropped(bench: Bmv2Bench) -> None:
    header = NSH(spi=0x010203, si=7, ttl=9, nextproto=3, context_header=bytes(16))
    room = MTU - len(header)
    fits, exceeds = (
        on_ethernet(header / Raw(bytes(INNER).ljust(size, b"."))) for size in (room, room + 1)
    )
    assert bench.one(PORT_NSH, fits)[0] == PORT_NSH
    assert _dropped(bench, PORT_NSH, exceeds) == {"oversize": 1}


def test_a_path_that_must_come_from_elsewhere(bench: Bmv2Bench) -> None:
    bench.paths({(77, 7): "nsh"}, came_from=NUMBERS[PORT_LINK])
    header = NSH(spi=77, si=7, ttl=9, nextproto=3, context_header=bytes(16))
    assert _dropped(bench, PORT_NSH, on_ethernet(header / INNER)) == {"wrong_port": 1}
    assert bench.one(PORT_LINK, on_gpe(header / INNER))[0] == PORT_NSH


def test_tshark_finds_nothing_wrong_with_what_leaves(bench: Bmv2Bench, tmp_path: Path) -> None:
    frames = []
    for (spi, si), action in PATHS.items():
        header = NSH(spi=spi, si=si, ttl=9, nextproto=3, context_header=bytes(16))
        leaves, answer = bench.one(PORT_NSH, on_ethernet(header / INNER))
        assert leaves == expected(PORT_NSH, bytes(on_ethernet(header / INNER)), PATHS).port, action
        frames.append(answer)
    assert [verdict.wrong for verdict in judge(frames, tmp_path)] == [()] * len(frames)


# --- the classifier ---


def _udp(port: int, **ip: object) -> Packet:
    addresses = {"src": "198.18.0.1", "dst": "198.18.0.2"} | ip
    return Ether(src=CLIENT, dst=SERVER) / IP(**addresses) / UDP(sport=1, dport=port) / Raw(b"data")


def test_what_a_rule_matches_gets_an_nsh(bench: Bmv2Bench) -> None:
    frame = _udp(5005)
    leaves, answer = bench.one(PORT_CLIENT, frame)
    # The first SFF has decremented the TTL of 63.
    header = NSH(spi=CLASSIFIED[0], si=CLASSIFIED[1], ttl=62, nextproto=3, context_header=bytes(16))
    wanted = Ether(src=NODE, dst=NSH_SF, type=0x894F) / header / frame
    assert (leaves, answer) == (PORT_NSH, bytes(wanted))


def test_everything_else_bypasses_the_chain_unchanged(bench: Bmv2Bench) -> None:
    ether = Ether(src=CLIENT, dst=SERVER)
    for frame in (
        _udp(4999),
        _udp(5010),
        ether / IP() / TCP(dport=5005),
        ether / IPv6() / UDP(dport=5005),
        ether / IP() / ICMP(),
        _udp(5005, frag=1),
        # Tunnels of endpoints are nothing to the switch.
        ether / IP() / UDP(dport=4790) / Raw(b"\x0c\0\0\4" + bytes(30)),
        # Cut before its ports.
        bytes(_udp(5005))[:34],
        bytes(_udp(5005))[:37],
    ):
        assert bench.one(PORT_CLIENT, frame) == (PORT_SERVER, bytes(frame))


def test_a_packet_that_it_does_not_read_is_dropped(bench: Bmv2Bench) -> None:
    """Behind other headers, or cut within IP."""
    packet = IP() / UDP(dport=5005) / Raw(b"data")
    frames = {name: bytes(make(CLIENT, SERVER, packet)) for name, make in UNPARSED.items()}
    frames |= {f"{end} bytes": bytes(_udp(5005))[:end] for end in (14, 20, 33)}
    for name, frame in frames.items():
        assert _dropped(bench, PORT_CLIENT, frame) == {"unparsed": 1}, name


def test_a_first_fragment_has_ports_and_what_is_cut_behind_them(bench: Bmv2Bench) -> None:
    assert bench.one(PORT_CLIENT, _udp(5005, flags="MF"))[0] == PORT_NSH
    leaves, answer = bench.one(PORT_CLIENT, bytes(_udp(5005))[:38])
    assert (leaves, answer[38:]) == (PORT_NSH, bytes(_udp(5005))[:38])


def test_rules_of_ipv6_behind_extension_headers(bench: Bmv2Bench) -> None:
    rule = _rule(2, version=6, protocol=6, destination_port=(80, 80))
    bench.control.insert([rule])
    try:
        ether = Ether(src=CLIENT, dst=SERVER) / IPv6(src="2001:db8::1", dst="2001:db8::2")
        options = IPv6ExtHdrDestOpt() / IPv6ExtHdrFragment(offset=0, m=1)
        matching = [ether / TCP(dport=80), ether / options / TCP(dport=80)]
        matching.append(ether / IPv6ExtHdrDestOpt() / options / IPv6ExtHdrDestOpt() / TCP(dport=80))
        for frame in matching:
            leaves, answer = bench.one(PORT_CLIENT, frame)
            assert leaves == PORT_NSH
            assert answer.endswith(bytes(frame))
        later = ether / IPv6ExtHdrFragment(offset=9) / TCP(dport=80)
        many = ether
        for _ in range(5):
            many = many / IPv6ExtHdrDestOpt()
        for frame in (later, ether / TCP(dport=81)):
            assert bench.one(PORT_CLIENT, frame) == (PORT_SERVER, bytes(frame))
        # A receiver reads what no rule can judge.
        assert _dropped(bench, PORT_CLIENT, many / TCP(dport=80)) == {"unparsed": 1}
    finally:
        bench.control.delete([rule])


def test_the_rule_with_the_highest_priority_wins(bench: Bmv2Bench) -> None:
    rule = P4TableEntry(
        "rules",
        match=finsy.Match(port=NUMBERS[PORT_CLIENT], destination_port=(5005, 5005)),
        action=finsy.Action("bypass"),
        priority=9,
    )
    bench.control.insert([rule])
    try:
        assert bench.one(PORT_CLIENT, _udp(5005))[0] == PORT_SERVER
        assert bench.one(PORT_CLIENT, _udp(5006))[0] == PORT_NSH
    finally:
        bench.control.delete([rule])


def test_to_and_from_the_endpoint_of_another_node(bench: Bmv2Bench) -> None:
    frame = Ether(src=CLIENT, dst=FAR_SERVER) / IP() / ICMP()
    leaves, answer = bench.one(PORT_CLIENT, frame)
    outer = Ether(answer)
    assert leaves == PORT_LINK
    assert (outer[IP].src, outer[IP].dst, outer.dst) == (NODE_ADDRESS, FAR_ADDRESS, FAR_NODE)
    assert answer.endswith(bytes(frame))
    padded = bytes(on_gpe(INNER, next_protocol=3)) + bytes(7)
    assert bench.one(PORT_LINK, padded) == (PORT_SERVER, bytes(INNER))


# --- SFs ---


def test_what_a_plain_sf_returns_goes_on(bench: Bmv2Bench) -> None:
    assert bench.one(PORT_BACK, INNER) == (PORT_SERVER, bytes(INNER))
    arp = Ether(src=PLAIN_SF, dst=NODE) / ARP()
    assert _dropped(bench, PORT_BACK, arp) == {"not_ip": 1}
    assert _dropped(bench, PORT_PLAIN, INNER) == {"no_path": 1}
    nobody = Ether(src=CLIENT, dst="ff:ff:ff:ff:ff:ff") / IP()
    assert _dropped(bench, PORT_CLIENT, nobody) == {"no_station": 1}


@pytest.mark.parametrize("carry", [on_ethernet, on_gpe], ids=["nsh-eth", "nsh-vxlan-gpe"])
def test_as_an_sf_it_returns_packets_with_one_si_less(bench: Bmv2Bench, carry: object) -> None:
    header = NSH(spi=9, si=8, ttl=5, nextproto=3, context_header=bytes(range(16)))
    frame = carry(header / INNER)  # type: ignore[operator]
    leaves, answer = bench.one(PORT_SERVICE, frame)
    wanted = bytearray(bytes(frame))
    wanted[:12] = wanted[6:12] + wanted[:6]
    if carry is on_gpe:
        wanted[26:34] = wanted[30:34] + wanted[26:30]
    at = 14 if carry is on_ethernet else 50
    wanted[at + 7] = 7
    assert (leaves, answer) == (PORT_SERVICE, bytes(wanted))


def test_no_sf_emits_an_si_of_0(bench: Bmv2Bench) -> None:
    for si, reason in ((0, "si_zero"), (1, "si_exhausted")):
        header = NSH(spi=9, si=si, ttl=5, nextproto=3, context_header=bytes(16))
        assert _dropped(bench, PORT_SERVICE, on_ethernet(header / INNER)) == {reason: 1}
