"""Every form of packet that PPTMon meets, made by scapy: one name, one frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scapy.layers.inet import IP, TCP, UDP, IPOption_RR
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from sfcperf.dataplane.nsh import ContextHeader, Nsh

SENDER_MAC, RECEIVER_MAC = "02:00:00:00:aa:01", "02:00:00:00:bb:02"
SENDER_4, RECEIVER_4 = "198.18.1.2", "198.18.2.2"
SENDER_6, RECEIVER_6 = "2001:db8:1::2", "2001:db8:2::2"
DATA = bytes(range(256)) + b"payload"

# 8 bytes of ExID 0x1234, somebody else's experiment (RFC 6994).
FOREIGN_OPTION = (254, b"\x12\x34\x00\x01\x02\x03")
NO_ROOM = [("Timestamp", (1, 2)), ("SAck", (1, 2, 3, 4, 5, 6)), ("NOP", None), ("NOP", None)]
SYN_OPTIONS = [
    ("MSS", 1460), ("SAckOK", b""), ("Timestamp", (7, 0)), ("NOP", None), ("WScale", 7),
]  # fmt: skip


def ethernet() -> Packet:
    return Ether(src=SENDER_MAC, dst=RECEIVER_MAC)


def network(version: int, **fields: object) -> Packet:
    """From sender to receiver."""
    if version == 4:
        return IP(**({"src": SENDER_4, "dst": RECEIVER_4, "id": 4711, "ttl": 17} | fields))
    return IPv6(**({"src": SENDER_6, "dst": RECEIVER_6, "hlim": 17} | fields))


def tcp(*, data: bytes = DATA, **fields: object) -> Packet:
    return TCP(**({"sport": 40000, "dport": 5201, "seq": 1, "ack": 2} | fields)) / Raw(data)


def udp(*, data: bytes = DATA, **fields: object) -> Packet:
    return UDP(**({"sport": 40000, "dport": 5201} | fields)) / Raw(data)


TRANSPORTS: dict[str, Callable[[], Packet]] = {
    "tcp": lambda: tcp(flags="PA"),
    "tcp-no-data": lambda: tcp(flags="A", data=b""),
    "tcp-odd": lambda: tcp(flags="A", data=b"odd"),
    "tcp-timestamps": lambda: tcp(
        flags="A", options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 2))]
    ),
    "tcp-syn": lambda: tcp(flags="S", data=b"", options=SYN_OPTIONS),
    "tcp-foreign-254": lambda: tcp(flags="A", options=[FOREIGN_OPTION]),
    "tcp-end-of-options": lambda: tcp(flags="A", options=[("NOP", None), ("EOL", None)]),
    "tcp-urgent": lambda: tcp(flags="UA", urgptr=3),
    "udp": lambda: udp(data=DATA[:-1]),
    "udp-odd": lambda: udp(),
    "udp-empty": lambda: udp(data=b""),
    "udp-one-byte": lambda: udp(data=b"x"),
    "udp-zero-checksum": lambda: udp(data=DATA[:-1], chksum=0),
    "udp-zero-checksum-odd": lambda: udp(chksum=0),
    "udp-trailer-lookalike": lambda: udp(data=bytes.fromhex("fe08506001000001")),
    "udp-rfc-lookalike": lambda: udp(data=bytes.fromhex("00007f0c50540000000101000001")),
}
NETWORKS: dict[str, Callable[[], Packet]] = {
    "ipv4": lambda: network(4),
    "ipv6": lambda: network(6),
    "ipv4-options": lambda: network(4, options=[IPOption_RR(length=11, routers=["0.0.0.0"] * 2)]),
    "ipv6-hop-by-hop": lambda: network(6) / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]),
    "ipv6-destination": lambda: network(6) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 12)]),
    "ipv6-routing": lambda: network(6) / IPv6ExtHdrRouting(addresses=[RECEIVER_6], segleft=0),
}
TAGS: dict[str, Callable[[], Packet]] = {
    "": ethernet,
    "vlan": lambda: ethernet() / Dot1Q(vlan=42, prio=3),
    "qinq": lambda: ethernet() / Dot1AD(vlan=7) / Dot1Q(vlan=42),
}
CONTEXT = bytes(range(16))
OTHER_CONTEXTS = (ContextHeader(0x1F6, 2, b"\x01\x02\x03"), ContextHeader(1, 9, bytes(20)))
SERVICE_HEADERS: dict[str, bytes | tuple[ContextHeader, ...]] = {
    "md1": CONTEXT,
    "md2": (),
    "md2-others": OTHER_CONTEXTS,
}


def service_header(metadata: bytes | tuple[ContextHeader, ...], following: int) -> Packet:
    """NSH by the codec that scapy and tshark judge elsewhere."""
    return Raw(Nsh(42, si=200, ttl=33, next_protocol=following, metadata=metadata).encode())


def plain() -> Iterator[tuple[str, Packet]]:
    """IP, with and without tags: networks with all transports, and the other way round."""
    for name, transport in TRANSPORTS.items():
        for version in ("ipv4", "ipv6"):
            yield f"{version}/{name}", ethernet() / NETWORKS[version]() / transport()
    for name, make in NETWORKS.items():
        if name not in ("ipv4", "ipv6"):
            for transport in ("tcp-timestamps", "udp-odd"):
                yield f"{name}/{transport}", ethernet() / make() / TRANSPORTS[transport]()


def tagged() -> Iterator[tuple[str, Packet]]:
    """With VLAN tags."""
    for tag in ("vlan", "qinq"):
        for version in ("ipv4", "ipv6"):
            for transport in ("tcp", "tcp-timestamps", "udp", "udp-odd"):
                frame = TAGS[tag]() / NETWORKS[version]() / TRANSPORTS[transport]()
                yield f"{tag}/{version}/{transport}", frame


def _inside(version: str, transport: str) -> Packet:
    return NETWORKS[version]() / TRANSPORTS[transport]()


def service() -> Iterator[tuple[str, Packet]]:
    """NSH over Ethernet and VXLAN-GPE."""
    for md, metadata in SERVICE_HEADERS.items():
        for version, transport in (
            ("ipv4", "tcp"), ("ipv6", "tcp-timestamps"), ("ipv4", "udp-odd"), ("ipv6", "udp"),
        ):  # fmt: skip
            inner = _inside(version, transport)
            by_protocol = service_header(metadata, 1 if version == "ipv4" else 2) / inner
            in_ethernet = (
                service_header(metadata, 3) / Ether(src=RECEIVER_MAC, dst=SENDER_MAC) / inner
            )
            name = f"{md}/{version}/{transport}"
            yield f"nsh/{name}", ethernet() / Raw(bytes(by_protocol))
            yield f"nsh-ethernet/{name}", ethernet() / Raw(bytes(in_ethernet))
            for outer in (4, 6):
                for sum_ in ("zero", "set"):
                    frame = tunnelled(outer, sum_ == "set", bytes(in_ethernet))
                    yield f"gpe{outer}-{sum_}/{name}", frame


def tunnelled(version: int, checksum: bool, inner: bytes) -> Packet:
    """In VXLAN-GPE."""
    return ethernet() / network(version) / tunnel(checksum) / Raw(inner)


def tunnel(checksum: bool) -> Packet:
    """UDP and VXLAN-GPE."""
    outer = UDP(sport=50000, dport=4790) if checksum else UDP(sport=50000, dport=4790, chksum=0)
    return outer / VXLAN(flags=0x0C, NextProtocol=4, vni=7)


def unusual() -> Iterator[tuple[str, Packet]]:
    """Tags around and inside NSH, options of the outer IP header, NSH in NSH."""
    for md, metadata in SERVICE_HEADERS.items():
        inner = _inside("ipv4", "udp-odd")
        within = bytes(service_header(metadata, 1) / inner)
        tags = Dot1Q(vlan=5) / Dot1Q(vlan=6)
        tagged_inside = service_header(metadata, 3) / Ether(dst=SENDER_MAC) / tags / inner
        name = f"{md}/ipv4/udp-odd"
        yield f"nsh-ethernet-qinq/{name}", ethernet() / Raw(bytes(tagged_inside))
        yield f"vlan-nsh/{name}", TAGS["vlan"]() / Raw(within)
        yield f"vlan-gpe4/{name}", TAGS["vlan"]() / network(4) / tunnel(True) / Raw(within)
        for outer in ("ipv4-options", "ipv6-hop-by-hop", "ipv6-destination"):
            frame = ethernet() / NETWORKS[outer]() / tunnel(True) / Raw(within)
            yield f"gpe-{outer}/{name}", frame


def finished(frame: Packet) -> bytes:
    """Bytes of a frame, all lengths and checksums set; NSH as EtherType where it is next."""
    data = bytearray(bytes(frame))
    layer, at = frame, 12
    while isinstance(layer.payload, Dot1Q):
        layer, at = layer.payload, at + 4
    if isinstance(layer.payload, Raw):
        data[at : at + 2] = b"\x89\x4f"
    return bytes(data)


FRAMES: dict[str, bytes] = {
    name: finished(frame)
    for group in (plain(), tagged(), service(), unusual())
    for name, frame in group
}  # fmt: skip
