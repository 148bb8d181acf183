"""The classifier against another one: Python's ipaddress and a walk through all rules."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw
from support.attacks.frames import UNPARSED
from support.fuzzing import SEEDS
from support.tiers import examples, is_gate
from support.vnfs.sff_bench import (
    CLIENT,
    MTU,
    PORT_CLIENT,
    PORT_NSH,
    PORT_SERVER,
    SERVER,
    TO,
    SffBench,
)

from sfcperf.errors import DeploymentError

pytestmark = pytest.mark.root

PATHS = 16
FIRST_SPI, SI = 0x4000, 255
PACKETS = 60
ADDRESSES = {
    4: ["10.0.0.1", "10.0.0.2", "10.0.1.1", "10.128.0.1", "192.0.2.1", "255.255.255.255"],
    6: ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "2001:db9::1", "fe80::1", "::1"],
}
LENGTHS = {4: [0, 1, 8, 9, 24, 31, 32], 6: [0, 16, 32, 33, 64, 127, 128]}
PORTS = [0, 1, 53, 1000, 1023, 1024, 1999, 2000, 65534, 65535]
PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "47": 47, "icmpv6": 58, "sctp": 132}
WITH_PORTS = {6: TCP, 17: UDP, 132: SCTP}
FRAGMENT = 44
SFF_PROBES, RULE_SLOTS = 128, 1024
"""Of dataplane/sff: slots where an entry may be, and those of a table for 512 rules."""
EXTENSIONS = {
    0: IPv6ExtHdrHopByHop(),
    43: IPv6ExtHdrRouting(addresses=["2001:db8::9"]),
    FRAGMENT: IPv6ExtHdrFragment(id=7, m=1),
    51: AH(icv=bytes(12), payloadlen=4),
    60: IPv6ExtHdrDestOpt(),
}


@dataclass(frozen=True)
class Rule:
    """Conditions; None: any."""

    version: int | None
    protocol: str | None
    source: IPv4Network | IPv6Network | None
    destination: IPv4Network | IPv6Network | None
    source_port: tuple[int, int] | None
    destination_port: tuple[int, int] | None

    def line(self, spi: int) -> str:
        words = [f"rule {PORT_CLIENT} path {spi} {SI}"]
        for name, value in vars(self).items():
            if value is not None:
                text = "-".join(map(str, value)) if isinstance(value, tuple) else value
                words.append(f"{name.replace('_', '-')} {text}")
        return " ".join(words)

    def matches(self, packet: Seen) -> bool:
        return (
            self.version in (None, packet.version)
            and (self.protocol is None or PROTOCOLS[self.protocol] == packet.protocol)
            and (self.source is None or ip_address(packet.source) in self.source)
            and (self.destination is None or ip_address(packet.destination) in self.destination)
            and _within(self.source_port, packet.source_port)
            and _within(self.destination_port, packet.destination_port)
        )


@dataclass(frozen=True)
class Seen:
    """What a classifier has to see in a packet."""

    version: int
    protocol: int
    source: str
    destination: str
    source_port: int
    destination_port: int


def _within(ports: tuple[int, int] | None, port: int) -> bool:
    return ports is None or ports[0] <= port <= ports[1]


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    version = draw(st.sampled_from([None, 4, 4, 6]))
    nets: list[Any] = [None, None]
    if version is not None:
        for place in range(2):
            if draw(st.booleans()):
                address = draw(st.sampled_from(ADDRESSES[version]))
                length = draw(st.sampled_from(LENGTHS[version]))
                nets[place] = ip_network(f"{address}/{length}", strict=False)
    protocol = draw(st.sampled_from([None, *PROTOCOLS]))
    ports: list[tuple[int, int] | None] = [None, None]
    if protocol in ("tcp", "udp", "sctp"):
        one = st.sampled_from(PORTS)
        ranges = st.tuples(one, one).map(lambda pair: (min(pair), max(pair)))
        # Two ranges that are no powers of two would take most of the masks.
        place = draw(st.integers(0, 1))
        ports[place] = draw(st.none() | ranges)
        ports[1 - place] = draw(st.none() | one.map(lambda port: (port, port)))
    return Rule(version, protocol, nets[0], nets[1], ports[0], ports[1])


def _packet(chance: Random) -> tuple[bytes, Seen]:
    """A frame, and what has to be seen in it."""
    version = chance.choice((4, 6))
    source, destination = chance.choices(ADDRESSES[version], k=2)
    protocol = chance.choice([*PROTOCOLS.values(), 6, 17])
    upper, ports = Raw(b"data" * 4), [0, 0]
    if protocol in WITH_PORTS:
        ports = chance.choices(PORTS, k=2)
        upper = Raw(bytes(WITH_PORTS[protocol](sport=ports[0], dport=ports[1]) / upper))
    if version == 4:
        offset = chance.choice((0, 0, 0, 1, 0x1FFF))
        options = [IPOption_NOP()] * chance.choice((0, 0, 4, 40))
        packet = IP(
            src=source,
            dst=destination,
            proto=protocol,
            frag=offset,
            flags=chance.randrange(3),
            options=options,
        )
    else:
        packet, protocol, offset = _extended(chance, IPv6(src=source, dst=destination), protocol)
    seen = Seen(version, protocol, source, destination, *((0, 0) if offset else ports))
    return bytes(Ether(src=CLIENT, dst=SERVER) / packet / upper), seen


def _extended(chance: Random, packet: Packet, protocol: int) -> tuple[Packet, int, int]:
    """A packet with up to four extension headers, the protocol that is seen, and where in the whole
    packet its data are, if it is a fragment."""
    chain = chance.choices(list(EXTENSIONS), k=chance.choice((0, 0, 1, 2, 3, 4)))
    chain.append(protocol)
    packet.nh = chain[0]
    for here, following in pairwise(chain):
        header = EXTENSIONS[here].copy()
        header.nh = following
        packet /= header
        if here == FRAGMENT:
            offset = packet.lastlayer().offset = chance.choice((0, 0, 1, 0x1FFF))
            if offset:
                # What follows are data.
                return packet, following, offset
    return packet, protocol, 0


@cache
def _pool() -> list[tuple[bytes, Seen]]:
    """Packets to choose from: to make one takes longer than all that is done to it."""
    chance = Random(8300)
    return [_packet(chance) for _ in range(400 if is_gate() else 10_000)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SffBench]:
    with SffBench(tmp_path_factory.mktemp("sff")) as bench:
        yield bench


@given(st.lists(rules(), min_size=1, max_size=PATHS), SEEDS)
@examples(1000, HealthCheck.function_scoped_fixture, gate=40)
def test_it_chooses_the_path_that_the_reference_does(
    bench: SffBench, rules: Sequence[Rule], seed: int
) -> None:
    packets = Random(seed).choices(_pool(), k=PACKETS)
    lines = [f"path {FIRST_SPI + n} {SI} {TO['nsh']}" for n in range(PATHS)]
    lines += [rule.line(FIRST_SPI + n) for n, rule in enumerate(rules)]
    try:
        bench.change(lines)
    except DeploymentError as error:
        assert "more than 64 different masks" in str(error)
        event("too many masks")
        return
    assert _chosen(bench, [frame for frame, _ in packets]) == [
        next((n for n, rule in enumerate(rules) if rule.matches(seen)), None) for _, seen in packets
    ]


def _chosen(bench: SffBench, frames: Sequence[bytes]) -> list[int | None]:
    """The rule that each frame matched. A number behind the packet tells frames apart."""
    numbered = [frame + number.to_bytes(4, "big") for number, frame in enumerate(frames)]
    out = bench.exchange(PORT_CLIENT, numbered)
    chosen: dict[int, int | None] = {_number(answer): None for answer in out[PORT_SERVER]}
    for answer in out[PORT_NSH]:
        chosen[_number(answer)] = Ether(answer)[NSH].spi - FIRST_SPI
    assert sum(map(len, out.values())) == len(chosen)
    return [chosen[number] for number in range(len(frames))]


def _number(frame: bytes) -> int:
    return int.from_bytes(frame[-4:], "big")


def test_more_extension_headers_than_it_skips(bench: SffBench) -> None:
    """The protocol is out of reach, but not that of the receiver."""
    rule = f"rule {PORT_CLIENT} path {FIRST_SPI} {SI} protocol udp"
    bench.change([f"path {FIRST_SPI} {SI} {TO['nsh']}", rule])
    assert _chosen(bench, [bytes(_with_options(4) / UDP(sport=1, dport=2))]) == [0]
    frames = {f"{count}": bytes(_with_options(count) / UDP()) for count in (5, 6, 40)}
    _unparsed(bench, frames | {"cut": bytes(_with_options(2) / UDP())[:-9]})


def _with_options(count: int) -> Packet:
    packet = Ether(src=CLIENT, dst=SERVER) / IPv6(src="2001:db8::1", dst="2001:db8::2")
    for _ in range(count):
        packet /= IPv6ExtHdrDestOpt()
    return packet


def test_a_packet_that_ends_within_its_ports(bench: SffBench) -> None:
    """It has none, as later fragments, which counts as 0."""
    lines = [f"path {FIRST_SPI + n} {SI} {TO['nsh']}" for n in range(2)]
    ports = "protocol udp source-port 0 destination-port 0"
    lines += [f"rule {PORT_CLIENT} path {FIRST_SPI} {SI} {ports}"]
    lines += [f"rule {PORT_CLIENT} path {FIRST_SPI + 1} {SI} protocol udp"]
    bench.change(lines)
    for network in (IP(proto=17), IPv6(nh=17)):
        whole = bytes(Ether(src=CLIENT, dst=SERVER) / network / b"\1\2\3\4")
        out = bench.exchange(PORT_CLIENT, [whole, whole[:-1], whole[:-4]])
        spis = [Ether(answer)[NSH].spi - FIRST_SPI for answer in out[PORT_NSH]]
        assert spis == [1, 0, 0]


def test_not_ip(bench: SffBench) -> None:
    """Even a rule without conditions is about IP alone; and of packets behind what it does not
    read, which the receiver may read."""
    bench.change(
        [f"path {FIRST_SPI} {SI} {TO['nsh']}", f"rule {PORT_CLIENT} path {FIRST_SPI} {SI}"]
    )
    ethernet = Ether(src=CLIENT, dst=SERVER)
    packet = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / Raw(b"data")
    wrong = {
        "version 6": bytes(ethernet / IP(version=6)),
        "short header": bytes(ethernet / IP(ihl=4)),
        "cut": bytes(ethernet / IP())[:30],
        "ARP": bytes(Ether(src=CLIENT, dst=SERVER, type=0x0806) / IP()),
        "nothing": bytes(ethernet),
    }
    wrong |= {name: bytes(make(CLIENT, SERVER, packet)) for name, make in UNPARSED.items()}
    _unparsed(bench, wrong)
    assert _chosen(bench, [bytes(ethernet / IP())]) == [0]
    # A port may let them bypass.
    port = f"port {PORT_CLIENT} interface p{PORT_CLIENT} kind endpoint mtu {MTU} xdp yes"
    assert port in bench.tables
    bench.sff.change(bench.tables.replace(port, f"{port} unparsed bypass"))
    dropped = bench.drops()
    frames = [wrong[name] for name in UNPARSED]
    # The kernel has taken tags off by the time a packet socket sees them.
    assert len(bench.exchange(PORT_CLIENT, frames)[PORT_SERVER]) == len(frames)
    assert bench.drops() == dropped


def _unparsed(bench: SffBench, frames: Mapping[str, bytes]) -> None:
    """Each is dropped as that, and nothing leaves."""
    for name, frame in frames.items():
        before = bench.counters()["drops"]["unparsed"]
        assert not any(bench.exchange(PORT_CLIENT, [frame]).values()), name
        assert bench.counters()["drops"]["unparsed"] - before == 1, name


def test_many_rules(bench: SffBench) -> None:
    """Each its own address: one mask. Beyond --rules they are refused, and nothing changes."""
    host = "protocol tcp source 10.{}.{}.1 destination-port 80"
    lines = [f"path {FIRST_SPI + n} {SI} {TO['nsh']}" for n in range(PATHS)]
    many = [
        f"rule {PORT_CLIENT} path {FIRST_SPI + n % PATHS} {SI} {host.format(n // 256, n % 256)}"
        for n in range(513)
    ]
    room = 512 - 12  # without those of the bench itself
    bench.change(lines + many[:room])
    probes = [0, 1, 255, 256, room - 1, room]
    frames = [
        bytes(
            Ether(src=CLIENT, dst=SERVER)
            / IP(src=f"10.{n // 256}.{n % 256}.1", dst="10.0.0.2")
            / TCP(dport=80)
        )
        for n in probes
    ]
    wanted = [*(n % PATHS for n in probes[:-1]), None]
    assert _chosen(bench, frames) == wanted
    with pytest.raises(DeploymentError, match=r"sff\.tables:\d+: there is room for 512 rules"):
        bench.change(lines + many)
    assert "start with more --rules" in bench.counters()["refused"]
    assert _chosen(bench, frames) == wanted


def test_rules_of_refused_tables_never_hold(bench: SffBench) -> None:
    """Rules that share a slot: the table is refused when some of them are in the kernel already."""
    lines = [f"path {FIRST_SPI + n} {SI} {TO['nsh']}" for n in range(2)]
    rules = [
        f"rule {PORT_CLIENT} path {FIRST_SPI} {SI} destination {address}"
        for address in _in_one_slot(SFF_PROBES + 1)
    ]
    with pytest.raises(DeploymentError, match="too many rules have similar hashes"):
        bench.change([*lines, *rules])
    other = f"rule {PORT_CLIENT} path {FIRST_SPI + 1} {SI} destination 203.0.113.1"
    bench.change([*lines, other])
    refused = _in_one_slot(SFF_PROBES)
    frames = [
        bytes(Ether(src=CLIENT, dst=SERVER) / IP(src="198.18.0.1", dst=address) / TCP(dport=80))
        for address in [*refused, "203.0.113.1"]
    ]
    assert _chosen(bench, frames) == [*[None] * len(refused), 1]


def _in_one_slot(count: int) -> list[str]:
    """Addresses whose rules have the same place in the table (sff_hash_tuple in entries.h)."""
    # Number of the mask (the bench's own rules have the first), port, protocol, version.
    first = int.from_bytes(bytes([1, PORT_CLIENT, 0, 4]), "little")
    start = _mixed(first)
    found = []
    for number in itertools.count(int(ip_address("10.0.0.0"))):
        destination = int.from_bytes(number.to_bytes(4, "big"), "little")
        hashed = _mixed(start ^ destination << 32) * 0x94D049BB133111EB % 2**64 >> 32
        if hashed % RULE_SLOTS == 0:
            found.append(str(ip_address(number)))
            if len(found) == count:
                return found
    raise AssertionError


def _mixed(word: int) -> int:
    product = word * 0xBF58476D1CE4E5B9 % 2**64
    return product ^ product >> 32
