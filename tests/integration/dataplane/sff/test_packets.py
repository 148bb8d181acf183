"""What sfc-sff makes of packets, at each kind of hop; scapy and tshark are the judges."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.contrib.nsh import NSH, NSHTLV
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.network.frames_judge import judge
from support.vnfs.sff_bench import (
    CLIENT,
    FAR_ADDRESS,
    FAR_NODE,
    FAR_SERVER,
    GPE_SF,
    GPE_SF_ADDRESS,
    LEAVES,
    MODES,
    MTU,
    NODE,
    NSH_SF,
    PLAIN_SF,
    PORT_BACK,
    PORT_CLIENT,
    PORT_GPE,
    PORT_LINK,
    PORT_NSH,
    PORT_SERVER,
    SERVER,
    TO,
    SffBench,
    gpe_headers,
    on_ethernet,
    on_gpe,
)

pytestmark = pytest.mark.root

CONTEXT = bytes(range(16))
HEADERS = {
    "md1": {"mdtype": 1, "context_header": CONTEXT},
    "md2-empty": {"mdtype": 2, "vlch": []},
    "md2": {"mdtype": 2, "vlch": [NSHTLV(class_=1, type=2, metadata=[3, 4])]},
    # 2 + 61 words, the most there is.
    "md2-longest": {
        "mdtype": 2,
        "vlch": [NSHTLV(class_=n, type=2, metadata=[n] * 31) for n in range(1, 2)]
        + [NSHTLV(class_=9, type=2, metadata=[n] * 28) for n in range(1)],
    },
}
ACTIONS = list(TO)
ARRIVALS = {"endpoint": PORT_CLIENT, "nsh": PORT_NSH, "gpe": PORT_LINK}
CARRY = {"nsh": on_ethernet, "gpe": on_gpe}
SI = 9
LOW_PORT, BACK_SPI, FROM_SPI, FROM = 1000, 200, 300, PORT_GPE


def _lines() -> Iterator[str]:
    """SPI 100, 101, ...: one for each action; SPI 200, ...: after the function behind the proxy;
    SPI 300, ...: only from one port."""
    for spi, action in enumerate(ACTIONS, 100):
        yield f"path {spi} {SI} {TO[action]}"
        yield f"path {BACK_SPI + spi} {SI + 1} {TO['plain']}"
        if action != "plain":
            yield f"path {BACK_SPI + spi} {SI} {TO[action]}"
        yield f"path {FROM_SPI + spi} {SI} from {FROM} {TO[action]}"
        match = f"protocol udp destination-port {LOW_PORT + spi}"
        yield f"rule {PORT_CLIENT} path {spi} {SI} {match}"


@pytest.fixture(scope="module", params=(*MODES, "generic"))
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SffBench:
    with SffBench(tmp_path_factory.mktemp("sff"), _lines(), request.param) as bench:
        yield bench


def _spi(action: str) -> int:
    return 100 + ACTIONS.index(action)


def _inner(spi: int, data: bytes = b"payload") -> Packet:
    """The packet of a flow that enters this path."""
    packet = IP(src="198.18.0.1", dst="198.18.0.2") / UDP(sport=1000, dport=LOW_PORT + spi)
    return Ether(src=CLIENT, dst=SERVER) / packet / Raw(data)


def _nsh(spi: int, header: str = "md1", **fields: int) -> Packet:
    return NSH(**({"spi": spi, "si": SI, "ttl": 17, "nextproto": 3} | HEADERS[header] | fields))


def _expected(action: str, seen: bytes, header: Packet | None, inner: Packet) -> bytes:
    """The frame that leaves, by scapy. `header` None: the NSH is new."""
    if header is None:
        # The classifier's 63, decremented by the SFF (RFC 8300, 2.2).
        header = NSH(spi=_spi(action), si=SI, ttl=62, context_header=bytes(16), nextproto=3)
    inside = bytes(header) + bytes(inner)
    if action == "nsh":
        return bytes(Ether(src=NODE, dst=NSH_SF, type=0x894F)) + inside
    if action == "gpe":
        return gpe_headers(seen, GPE_SF, GPE_SF_ADDRESS, 4) + inside
    if action == "link":
        return gpe_headers(seen, FAR_NODE, FAR_ADDRESS, 4) + inside
    if action == "end-gpe":
        return gpe_headers(seen, FAR_NODE, FAR_ADDRESS, 3) + bytes(inner)
    if action == "plain":
        inner = inner.copy()
        inner.dst = PLAIN_SF
    return bytes(inner)


def _cells(action: str, arrival: str) -> Iterator[tuple[Packet, Packet | None, Packet]]:
    """Frame that is sent, NSH that shall leave (None: a new one), packet in it."""
    spi = _spi(action)
    inner = _inner(spi)
    if arrival == "endpoint":
        yield inner, None, inner
        return
    for header in HEADERS:
        yield CARRY[arrival](_nsh(spi, header) / inner), _nsh(spi, header, ttl=16), inner


def test_every_hop(bench: SffBench, tmp_path: Path) -> None:
    left = []
    for arrival, action in itertools.product(("endpoint", "nsh", "gpe"), ACTIONS):
        before = _hop(bench, _spi(action))
        came = 0
        cells = list(_cells(action, arrival))
        for frame, header, inner in cells:
            came += len(frame)
            leaves, seen = bench.one(ARRIVALS[arrival], frame)
            assert leaves == LEAVES[action], (arrival, action)
            assert seen == _expected(action, seen, header, inner), (arrival, action)
            left.append(seen)
        after = _hop(bench, _spi(action))
        assert (after[0] - before[0], after[1] - before[1]) == (len(cells), came), (arrival, action)
    for frame, verdict in zip(left, judge(left, tmp_path), strict=True):
        assert verdict.wrong == (), frame.hex()


def _hop(bench: SffBench, spi: int) -> tuple[int, int]:
    """Packets and bytes counted there."""
    [hop] = [hop for hop in bench.counters()["hops"] if (hop["spi"], hop["si"]) == (spi, SI)]
    return hop["packets"], hop["bytes"]


def test_a_hop_after_the_proxy(bench: SffBench) -> None:
    """Out to the function behind the proxy, whose frame continues with SI - 1."""
    for action in ACTIONS:
        if action == "plain":
            continue
        spi = BACK_SPI + _spi(action)
        inner = _inner(spi)
        sent = on_ethernet(_nsh(spi, "md2", si=SI + 1) / inner)
        leaves, at_function = bench.one(PORT_NSH, sent)
        assert (leaves, at_function) == (LEAVES["plain"], _expected("plain", b"", None, inner))
        leaves, seen = bench.one(PORT_BACK, at_function)
        new = NSH(spi=spi, si=SI, ttl=62, context_header=bytes(16), nextproto=3)
        wanted = _expected(action, seen, new, Ether(at_function))
        assert (leaves, seen) == (LEAVES[action], wanted), action


@pytest.mark.gate_runs(1)
def test_lengths_and_checksums_of_the_tunnel(bench: SffBench) -> None:
    """Of each size: even and odd, and of two flows."""
    for action, size in itertools.product(("gpe", "end-gpe"), (0, 1, 17, 700, 1380)):
        _, seen = bench.one(PORT_CLIENT, _inner(_spi(action), bytes(size)))
        outer = Ether(seen)
        assert outer[UDP].sport >= 49152  # RFC 6335: dynamic ports
        assert (outer[IP].len, outer[UDP].len) == (len(seen) - 14, len(seen) - 34)
        again = outer[IP].copy()
        del again.chksum
        assert IP(bytes(again)).chksum == outer[IP].chksum
    inner = _inner(_spi("gpe"))
    ports = set()
    for port in range(2000, 2020):
        inner[UDP].sport = port
        del inner[UDP].chksum
        ports |= {bench.one(PORT_CLIENT, bytes(inner))[1][34:36] for _ in range(2)}
    # Of 16,384 hash values; the same flow has always the same one.
    assert 18 <= len(ports) <= 20


def test_ttl_is_decremented(bench: SffBench) -> None:
    for arrival, carry in CARRY.items():
        for ttl, left in ((63, 62), (2, 1), (0, 63)):
            _, seen = bench.one(ARRIVALS[arrival], carry(_nsh(_spi("nsh"), ttl=ttl) / _inner(0)))
            assert Ether(seen)[NSH].ttl == left, arrival


def _dropped(bench: SffBench, port: int, *frames: Packet | bytes) -> dict[str, int]:
    """By reason; and nothing comes out."""
    before = bench.counters()
    out = bench.exchange(port, frames)
    assert out == {leaves: [] for leaves in out}
    after = bench.counters()
    drops = {name: after["drops"][name] - count for name, count in before["drops"].items()}
    assert after["dropped"] - before["dropped"] == sum(drops.values()) == len(frames)
    return {name: count for name, count in drops.items() if count}


def test_drops_and_counts(bench: SffBench) -> None:
    spi = _spi("nsh")
    wrong = {
        "ttl": _nsh(spi, ttl=1),
        "si_zero": _nsh(spi, si=0),
        "oam": _nsh(spi, oam=1),
        "no_path": _nsh(spi, si=SI - 1),
        "wrong_port": _nsh(FROM_SPI + spi),
    }
    for arrival, carry in CARRY.items():
        for reason, header in wrong.items():
            frame = carry(header / _inner(0))
            assert _dropped(bench, ARRIVALS[arrival], frame, frame) == {reason: 2}, arrival


def test_from_the_port_that_a_path_names(bench: SffBench) -> None:
    for action in ACTIONS:
        inner = _inner(0)
        frame = on_gpe(_nsh(FROM_SPI + _spi(action)) / inner)
        leaves, _ = bench.one(FROM, frame)
        assert leaves == LEAVES[action]


CARRIED = {
    1: IP(src="198.18.0.1", dst="198.18.0.2") / UDP(dport=9) / Raw(b"four"),
    2: IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(dport=9) / Raw(b"six"),
    4: NSH(spi=5, context_header=CONTEXT) / Raw(b"nested"),
    5: Raw(b"MPLS would be here"),
    0: Raw(b"unassigned"),
    255: Raw(b"experiment"),
}


@pytest.mark.parametrize("arrival", ["nsh", "gpe"])
def test_other_next_protocols(bench: SffBench, arrival: str) -> None:
    """They pass to those that understand NSH; elsewhere IP goes to functions behind the proxy."""
    for (next_protocol, inner), action in itertools.product(CARRIED.items(), ACTIONS):
        cell = (next_protocol, action)
        header = _nsh(_spi(action), nextproto=next_protocol)
        frame = CARRY[arrival](header / Raw(bytes(inner)))
        ethertype = {1: 0x0800, 2: 0x86DD}.get(next_protocol)
        if action in ("nsh", "gpe", "link"):
            header = _nsh(_spi(action), nextproto=next_protocol, ttl=16)
            leaves, seen = bench.one(ARRIVALS[arrival], frame)
            assert (leaves, seen) == (LEAVES[action], _expected(action, seen, header, inner)), cell
        elif action == "plain" and ethertype:
            _, seen = bench.one(ARRIVALS[arrival], frame)
            ethernet = Ether(src=NODE, dst=PLAIN_SF, type=ethertype)
            assert seen == bytes(ethernet) + bytes(inner), cell
        else:
            assert _dropped(bench, ARRIVALS[arrival], frame) == {"next_protocol": 1}, cell


def test_padding_of_a_tunnelled_frame_is_cut_off(bench: SffBench) -> None:
    """UDP says where the packet ends; the rest of the frame is the link's."""
    for action in ACTIONS:
        inner = _inner(0, b"")
        frame = bytes(on_gpe(_nsh(_spi(action)) / inner)) + bytes(23)
        _, seen = bench.one(PORT_LINK, frame)
        assert seen == _expected(action, seen, _nsh(_spi(action), ttl=16), inner)


def test_a_tunnel_that_is_cut_short(bench: SffBench) -> None:
    inner = _inner(0)
    for whole in (bytes(on_gpe(_nsh(_spi("nsh")) / inner)), bytes(on_gpe(inner, next_protocol=3))):
        frames = [whole[:-1], whole[:50]]
        for size, tail in ((len(whole) - 34 + 1, 0), (15, 0), (len(whole) - 34 + 4, 4)):
            # Longer than the frame, shorter than a header, longer than IP says.
            frames.append(whole[:38] + size.to_bytes(2, "big") + whole[40:] + bytes(tail))
        assert _dropped(bench, PORT_LINK, *frames) == {"truncated": len(frames)}


WRONG_TUNNELS = {
    "not IPv4": (12, b"\x86\xdd"),
    "IP options": (14, b"\x46"),
    "IPv6 in the version": (14, b"\x65"),
    "TCP": (23, b"\x06"),
    "more fragments": (20, b"\x20\x00"),
    "a later fragment": (20, b"\x00\x10"),
    "another port": (36, b"\x12\xb5"),
    "no instance": (42, b"\x04"),
    "no next protocol": (42, b"\x08"),
    "version 1": (42, b"\x1c"),
    "IPv4 in VXLAN": (45, b"\x01"),
    "VNI": (48, b"\x07"),
}


def test_other_encapsulations(bench: SffBench) -> None:
    whole = bytes(on_gpe(_nsh(_spi("nsh")) / _inner(0)))
    for what, (at, wrong) in WRONG_TUNNELS.items():
        frame = whole[:at] + wrong + whole[at + len(wrong) :]
        assert _dropped(bench, PORT_LINK, frame) == {"encapsulation": 1}, what
    stray = on_ethernet(_nsh(_spi("nsh")) / _inner(0), dst=NSH_SF)
    assert _dropped(bench, PORT_NSH, stray, _inner(_spi("nsh"))) == {"encapsulation": 2}


def test_what_comes_back_from_a_function_unasked(bench: SffBench) -> None:
    flow = _inner(4711)
    other = Ether(src=PLAIN_SF, dst=NODE) / ARP()
    assert _dropped(bench, PORT_BACK, flow, other) == {"no_flow": 1, "not_ip": 1}


def test_packets_that_bypass_the_chain(bench: SffBench) -> None:
    """From endpoints without a rule that matches, and from endpoints of other nodes."""
    other = _inner(0)
    assert bench.one(PORT_CLIENT, other) == (PORT_SERVER, bytes(other))
    there = Ether(src=CLIENT, dst=FAR_SERVER) / IP() / UDP(dport=9)
    leaves, seen = bench.one(PORT_CLIENT, there)
    assert leaves == PORT_LINK
    assert seen == gpe_headers(seen, FAR_NODE, FAR_ADDRESS, 3) + bytes(there)
    back = Ether(src=FAR_SERVER, dst=CLIENT) / IP() / UDP(dport=9)
    assert bench.one(PORT_LINK, on_gpe(back, next_protocol=3)) == (PORT_CLIENT, bytes(back))
    unknown = Ether(src=CLIENT, dst="02:00:00:00:99:99") / IP() / UDP(dport=9)
    assert _dropped(bench, PORT_CLIENT, unknown) == {"no_station": 1}


def test_packets_in_transit(bench: SffBench) -> None:
    """Between other nodes and functions they leave as they came."""
    frame = on_gpe(_nsh(4711) / _inner(0), src=FAR_ADDRESS, dst=GPE_SF_ADDRESS)
    frame.dst = GPE_SF
    assert bench.one(PORT_LINK, frame) == (PORT_GPE, bytes(frame))
    frame = on_gpe(_inner(0), next_protocol=3, src=GPE_SF_ADDRESS, dst=FAR_ADDRESS)
    frame.dst = FAR_NODE
    assert bench.one(PORT_GPE, frame) == (PORT_LINK, bytes(frame))
    lost = on_gpe(_nsh(4711) / _inner(0), dst="192.0.2.99")
    assert _dropped(bench, PORT_LINK, lost) == {"no_station": 1}


GROWTH = {"nsh": 24 + 14, "plain": 0, "gpe": 24 + 50, "link": 24 + 50, "end": 0, "end-gpe": 50}


def test_the_largest_frame(bench: SffBench) -> None:
    for action in ACTIONS:
        inner = _inner(_spi(action), b"")
        room = MTU + 14 - len(inner) - GROWTH[action]
        leaves, seen = bench.one(PORT_CLIENT, _inner(_spi(action), bytes(room)))
        assert (leaves, len(seen)) == (LEAVES[action], MTU + 14)
        larger = _inner(_spi(action), bytes(room + 1))
        assert _dropped(bench, PORT_CLIENT, larger) == {"oversize": 1}


def test_an_ip_broadcast_ends_where_its_path_does(bench: SffBench) -> None:
    """A path ends at a port, whatever the address is."""
    inner = _inner(_spi("end"))
    inner.dst = "ff:ff:ff:ff:ff:ff"
    assert bench.one(PORT_CLIENT, inner) == (PORT_SERVER, bytes(inner))
