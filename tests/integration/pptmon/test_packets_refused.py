"""What pptmon leaves alone, and says so: no room, fragments, what is not of its kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.pptmon.bench import Chain
from support.pptmon.zoo import (
    DATA,
    FRAMES,
    NO_ROOM,
    OTHER_CONTEXTS,
    SENDER_4,
    SENDER_MAC,
    ethernet,
    finished,
    network,
    service_header,
    tcp,
    udp,
)
from support.pptmon_model import packet
from support.pptmon_model.format import Format, Header, Hop

from sfcperf.dataplane.nsh import ContextHeader

pytestmark = pytest.mark.root

BROADCAST = "ff:ff:ff:ff:ff:ff"
HEADER = Header((Hop(77, 5),))


def with_surplus(frame: Packet, added: bytes) -> bytes:
    """IPv4 and UDP with bytes behind the data of UDP."""
    seen = Ether(bytes(frame))
    seen[IP].len += len(added)
    del seen[IP].chksum
    return bytes(seen) + added


V4, V6 = ethernet() / network(4), ethernet() / network(6)
LEFT_ALONE: dict[str, tuple[bytes, str | None]] = {
    # TCP options
    "options full": (finished(V4 / tcp(options=NO_ROOM)), "no_room_options"),
    "options full, IPv6": (finished(V6 / tcp(options=NO_ROOM)), "no_room_options"),
    "options full but 4 bytes": (
        finished(V4 / tcp(options=[("NOP", None)] * 36)), "no_room_options"),
    # MTU of 1500
    "MTU, TCP": (finished(V4 / tcp(data=bytes(1460))), "no_room_mtu"),
    "MTU but 8, TCP of rfc": (finished(V4 / tcp(data=bytes(1452))), "no_room_mtu"),
    "MTU, UDP": (finished(V4 / udp(data=bytes(1472))), "no_room_mtu"),
    "MTU, UDP over IPv6": (finished(V6 / udp(data=bytes(1452))), "no_room_mtu"),
    # Fragments
    "first fragment": (finished(ethernet() / network(4, flags="MF") / udp()), "fragments"),
    "middle fragment": (
        finished(ethernet() / network(4, flags="MF", frag=8, proto=17) / Raw(DATA[:256])),
        "fragments"),
    "last fragment": (finished(ethernet() / network(4, frag=16, proto=6) / Raw(DATA)), "fragments"),
    "fragment of IPv6": (finished(V6 / IPv6ExtHdrFragment(m=1, id=3) / udp()), "fragments"),
    "fragment behind hop-by-hop": (
        finished(V6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment(offset=8, id=3) / Raw(DATA)),
        "fragments"),
    # Surplus areas of others
    "surplus": (with_surplus(V4 / udp(), b"\x00\x01options"), "unsupported"),
    "surplus of one byte": (with_surplus(V4 / udp(), b"\0"), "unsupported"),
    # Not of its kind: not even counted
    "ARP": (bytes(Ether(src=SENDER_MAC, dst=BROADCAST) / ARP(pdst="198.18.1.9")), None),
    "ICMP": (finished(V4 / ICMP() / Raw(DATA)), None),
    "ICMPv6": (finished(V6 / ICMPv6EchoRequest(data=DATA)), None),
    "GRE": (finished(ethernet() / network(4, proto=47) / Raw(DATA)), None),
    "no next header": (finished(ethernet() / network(6, nh=59) / Raw(DATA)), None),
    "EtherType of nobody": (
        bytes(Ether(src=SENDER_MAC, dst=BROADCAST, type=0x88B6) / Raw(DATA)), None),
    "LLC": (bytes(Ether(src=SENDER_MAC, dst=BROADCAST, type=60) / Raw(bytes(60))), None),
}  # fmt: skip


@pytest.mark.parametrize("layout", Format)
def test_what_is_left_alone(chain_of: Callable[[int], Chain], layout: Format) -> None:
    chain = chain_of(2)
    chain.start("--period-ms", "0", "--format", layout.value)
    wrong = {}
    expected = dict.fromkeys(["no_room_options", "no_room_mtu", "fragments", "unsupported"], 0)
    for name, (frame, counter) in LEFT_ALONE.items():
        if name == "MTU but 8, TCP of rfc" and layout is Format.PAPER:
            continue
        seen = chain.exchange(frame)
        if (*seen.between, seen.received) != ([frame], [frame]):
            wrong[name] = (frame.hex(), [[one.hex() for one in part] for part in seen.between])
        if counter:
            expected[counter] += 1
        counters = chain.source.counters()
        now = {key: counters[key] for key in expected}
        if now != expected:
            wrong[f"{name}: counters"] = now
            expected = now
    assert wrong == {}
    assert chain.source.counters()["sampled"] == 0
    assert chain.sink.samples() == []


@pytest.mark.parametrize(
    ("layout", "added"), [(Format.PAPER, {tcp: 8, udp: 8}), (Format.RFC, {tcp: 12, udp: 14})]
)
def test_the_mtu_to_the_byte(
    chain_of: Callable[..., Chain], layout: Format, added: dict[Callable[..., Packet], int]
) -> None:
    """What just fits is measured; one byte more is not."""
    chain = chain_of(1)
    chain.start("--period-ms", "0", "--format", layout.value)
    cells = [(version, transport) for version in (4, 6) for transport in (tcp, udp)]
    for number, (version, transport) in enumerate(cells):
        headers = (20 if version == 4 else 40) + (20 if transport is tcp else 8)
        room = 1500 - headers - added[transport]
        room -= room % 2  # so that no pad byte is needed
        for size, sampled in ((room, number + 1), (room + 2, number + 1)):
            frame = finished(ethernet() / network(version) / transport(data=bytes(size)))
            assert chain.exchange(frame).received == [frame]
            counters = chain.source.counters()
            refused = number + (size > room)
            assert (counters["sampled"], counters["no_room_mtu"]) == (sampled, refused)


def test_headers_from_elsewhere_stay_as_they_are(chain_of: Callable[[int], Chain]) -> None:
    """A source that meets a header leaves it to those it is for."""
    chain = chain_of(1)
    chain.start("--period-ms", "0", "--format", "rfc", modes=["source"])
    frames = [
        packet.add(FRAMES[name], HEADER, layout)
        for layout in Format
        for name in ("ipv4/tcp", "ipv6/tcp-timestamps", "ipv4/udp-odd", "ipv6/udp")
    ]
    assert chain.exchange(*frames).received == frames
    counters = chain.source.counters()
    assert (counters["already"], counters["sampled"]) == (len(frames), 0)


@pytest.mark.parametrize("mode", ["transit", "sink"])
def test_without_a_source_nothing_happens(chain_of: Callable[[int], Chain], mode: str) -> None:
    chain = chain_of(1)
    chain.start(modes=[mode])
    for name, frame in FRAMES.items():
        assert chain.exchange(frame).received == [frame], name
    counters = chain.source.counters()
    assert {counters[name] for name in ("added", "measured", "reported", "malformed")} == {0}


def test_nsh_without_room(chain_of: Callable[[int], Chain]) -> None:
    """Contexts of others leave none, or less than a hop needs."""
    chain = chain_of(2)
    chain.start("--period-ms", "0", "--carrier", "nsh")
    rest = [ContextHeader(1, 9, bytes(size)) for size in (116, 112, 76)]
    for contexts in (rest[:2], [*OTHER_CONTEXTS, rest[0], rest[2]]):
        header = service_header(tuple(contexts), 1)
        frame = finished(ethernet() / Raw(bytes(header / network(4) / udp())))
        seen = chain.exchange(frame)
        assert (seen.between, seen.received) == (([frame],), [frame])
    assert chain.source.counters()["no_room_options"] == 2


def test_multicast_and_broadcast_come_through_whole(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(2)
    chain.start("--period-ms", "0")
    for mac, address in (("01:00:5e:01:02:03", "239.1.2.3"), (BROADCAST, "255.255.255.255")):
        header = Ether(src=SENDER_MAC, dst=mac) / IP(src=SENDER_4, dst=address)
        frame = bytes(header / UDP(sport=68, dport=67) / Raw(DATA))
        assert chain.exchange(frame).received == [frame]


PLAIN = {"ipv4/tcp", "ipv6/tcp", "ipv4/udp", "ipv6/udp"}
IN_NSH = {f"{where}/ipv4/{what}" for where in ("nsh/md1", "nsh/md2", "gpe4-set/md1")
          for what in ("tcp", "udp-odd")}  # fmt: skip
FILTERS = {
    "proto=tcp": {"ipv4/tcp", "ipv6/tcp", *(name for name in IN_NSH if "tcp" in name)},
    "proto=udp": {"ipv4/udp", "ipv6/udp", *(name for name in IN_NSH if "udp" in name)},
    "src=198.18.1.0/24": {"ipv4/tcp", "ipv4/udp", *IN_NSH},
    "src=198.18.9.0/24": set(),
    "dst=198.18.2.2": {"ipv4/tcp", "ipv4/udp", *IN_NSH},
    "src=2001:db8:1::/48,proto=udp": {"ipv6/udp"},
    "dst=2001:db8:2::2": {"ipv6/tcp", "ipv6/udp"},
    "dst=2001:db8:2::3": set(),
    "sport=40000": PLAIN | IN_NSH,
    "sport=5201": set(),
    "dport=5201,proto=tcp,dst=2001:db8::/32": {"ipv6/tcp"},
    "dport=5202": set(),
}


def test_the_filter(chain_of: Callable[[int], Chain]) -> None:
    """It looks inside NSH as well."""
    chain = chain_of(2)
    names = sorted(PLAIN | IN_NSH)
    for expression, wanted in FILTERS.items():
        chain.start("--period-ms", "0", "--filter", expression)
        [seen] = chain.exchange(*(FRAMES[name] for name in names)).between
        carrying = zip(names, seen, strict=True)
        assert {name for name, frame in carrying if packet.read(frame)} == wanted, expression
        chain.stop()
