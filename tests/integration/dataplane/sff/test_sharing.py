"""Functions that several paths share, and two classifiers, in one sfc-sff."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from support.network.wires import eventually
from support.vnfs.sff_bench import (
    CLIENT,
    NODE,
    PLAIN_SF,
    PORT_BACK,
    PORT_CLIENT,
    PORT_GPE,
    PORT_NSH,
    PORT_PLAIN,
    PORT_SERVER,
    SERVER,
    TO,
    SffBench,
    on_ethernet,
)

pytestmark = pytest.mark.root

FORWARD, REVERSE, THIRD, LAST = 0x111, 0x222, 0x333, 0x444
FLOWS = 60
LINES = [
    # Two paths by different functions to one that they share, and back to different ends.
    f"path {FORWARD} 255 from {PORT_CLIENT} {TO['nsh']}",
    f"path {FORWARD} 254 from {PORT_NSH} {TO['plain']}",
    f"path {FORWARD} 253 from {PORT_BACK} {TO['gpe']}",
    f"path {FORWARD} 252 from {PORT_GPE} to end port {PORT_SERVER}",
    f"path {REVERSE} 255 from {PORT_SERVER} {TO['plain']}",
    f"path {REVERSE} 254 from {PORT_BACK} {TO['nsh']}",
    f"path {REVERSE} 253 from {PORT_NSH} to end port {PORT_CLIENT}",
    f"path {THIRD} 255 from {PORT_CLIENT} {TO['plain']}",
    f"path {THIRD} 254 from {PORT_BACK} to end port {PORT_SERVER}",
    f"rule {PORT_CLIENT} path {THIRD} 255 protocol udp destination-port 3000-3999",
    f"rule {PORT_CLIENT} path {FORWARD} 255",
    f"rule {PORT_SERVER} path {REVERSE} 255",
]


@pytest.fixture(scope="module", params=["xdp", "tap"])
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SffBench]:
    with SffBench(tmp_path_factory.mktemp("sff"), LINES, request.param) as bench:
        yield bench


def _flow(number: int, *, reply: bool = False, low: int = 1000) -> Packet:
    ends = [(CLIENT, 4, low + number), (SERVER, 9, 80)]
    (mac, host, sport), (to, other, dport) = reversed(ends) if reply else ends
    if number % 3:
        network = IP(src=f"10.0.0.{host}", dst=f"10.0.0.{other}")
    else:
        network = IPv6(src=f"2001:db8::{host}", dst=f"2001:db8::{other}")
    upper = TCP if number % 2 else UDP
    return Ether(src=mac, dst=to) / network / upper(sport=sport, dport=dport) / Raw(b"data")


def _returned(bench: SffBench, port: int, frames: list[bytes]) -> list[bytes]:
    """A function that knows NSH sends its packets back, with SI - 1."""
    back = []
    for frame in frames:
        header = Ether(frame)
        header[NSH].si -= 1
        header.src, header.dst = header.dst, NODE
        back.append(bytes(header))
    [out] = [out for out in bench.exchange(port, back).values() if out]
    return out


def test_each_flow_goes_on_along_its_own_path(bench: SffBench) -> None:
    """The shared function returns packets of both directions, and of IPv4 and IPv6, mixed."""
    requests = [bytes(_flow(number)) for number in range(FLOWS)]
    replies = [bytes(_flow(number, reply=True)) for number in range(FLOWS)]
    at_first = bench.exchange(PORT_CLIENT, requests)[PORT_NSH]
    inside = _returned(bench, PORT_NSH, at_first)
    inside += bench.exchange(PORT_SERVER, replies)[PORT_PLAIN]
    assert len(inside) == 2 * FLOWS
    assert {frame[:6] for frame in inside} == {bytes.fromhex(PLAIN_SF.replace(":", ""))}
    random.Random(7).shuffle(inside)
    out = bench.exchange(PORT_BACK, inside)
    forward = [Ether(frame)[NSH] for frame in out[PORT_GPE]]
    reverse = [Ether(frame)[NSH] for frame in out[PORT_NSH]]
    assert {(nsh.spi, nsh.si) for nsh in forward} == {(FORWARD, 253)}
    assert {(nsh.spi, nsh.si) for nsh in reverse} == {(REVERSE, 254)}
    # What is behind the Ethernet header, which functions may rewrite, is that of the requests.
    assert sorted(bytes(nsh.payload)[12:] for nsh in forward) == sorted(r[12:] for r in requests)
    assert sorted(bytes(nsh.payload)[12:] for nsh in reverse) == sorted(r[12:] for r in replies)


def test_a_flow_that_moves_to_another_path(bench: SffBench) -> None:
    """Its last way there is its way back."""
    packet = Ether(src=CLIENT, dst=SERVER) / IP(src="10.2.0.1", dst="10.2.0.2") / UDP(dport=3000)
    header = NSH(spi=FORWARD, si=254, ttl=9, nextproto=3, context_header=bytes(16))
    by_forward = (PORT_NSH, on_ethernet(header / packet), PORT_GPE)
    by_third = (PORT_CLIENT, packet, PORT_SERVER)
    for port, frame, ends in (by_forward, by_third, by_forward):
        leaves, inside = bench.one(port, frame)
        assert leaves == PORT_PLAIN
        assert bench.one(PORT_BACK, inside)[0] == ends


def test_fragments_and_what_has_no_ports(bench: SffBench) -> None:
    """They are remembered as well: by addresses and protocol."""
    ends = {"src": "10.1.0.1", "dst": "10.1.0.2"}
    ethernet = Ether(src=SERVER, dst=CLIENT)
    packets = [
        ethernet / IP(**ends) / ICMP(),
        ethernet / IP(**ends, flags="MF", proto=17) / Raw(bytes(UDP(sport=5, dport=6)) + bytes(8)),
        ethernet / IP(**ends, frag=2, proto=17) / Raw(b"the rest"),
        ethernet / IPv6(src="2001:db8::1", dst="2001:db8::2", nh=59),
    ]
    inside = bench.exchange(PORT_SERVER, packets)[PORT_PLAIN]
    assert len(inside) == len(packets)
    out = bench.exchange(PORT_BACK, inside)
    assert [(Ether(f)[NSH].spi, Ether(f)[NSH].si) for f in out[PORT_NSH]] == [(REVERSE, 254)] * 4


def test_the_same_conditions_at_two_ports(bench: SffBench) -> None:
    """A rule is about one port: the same packet enters another path there."""
    packet = _flow(4)
    assert bench.one(PORT_CLIENT, packet)[0] == PORT_NSH
    assert bench.one(PORT_SERVER, packet)[0] == PORT_PLAIN


def test_the_last_function_of_a_path_has_nothing_behind_it(bench: SffBench) -> None:
    """Its packets come back with SI 0. They are dropped for that reason, also when another path
    shares the function: they do not continue on that one."""
    there_and_back = f"to plain port {PORT_PLAIN} mac {PLAIN_SF} back {PORT_PLAIN}"
    last = f"path {LAST} 1 {there_and_back}"
    other = [f"path {THIRD} 255 {there_and_back}", f"path {THIRD} 254 to end port {PORT_SERVER}"]
    header = NSH(spi=LAST, si=1, ttl=9, nextproto=3, context_header=bytes(16))
    for lines in ([last], [last, *other], [*other, last]):
        bench.change(lines)
        [inside] = bench.exchange(PORT_NSH, [on_ethernet(header / _flow(1))])[PORT_PLAIN]
        assert _fate(bench, inside) == {"si_zero": 1}
    bench.change([])
    assert _fate(bench, inside) == {"no_path": 1}  # by this port no path comes back
    bench.sff.change(bench.tables)


def _fate(bench: SffBench, frame: bytes) -> dict[str, int]:
    """Why a frame that comes back by PORT_PLAIN is dropped; empty if it is not."""
    before = bench.counters()
    bench.wires[PORT_PLAIN].send([frame])
    assert eventually(lambda: bench.counters()["received"] > before["received"])
    drops = bench.counters()["drops"]
    return {
        name: count - was for name, was in before["drops"].items() if (count := drops[name]) > was
    }
