"""Frames of all forms that SDN-Mon reads, made by scapy, and damaged ones."""

from __future__ import annotations

import random
from collections.abc import Iterable

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, LLC, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from sfcperf.dataplane.nsh import Nsh, VxlanGpe
from support.sfcmon.frames import MACS, over_ethernet, over_vxlan_gpe

ETHERNET = Ether(**MACS)
V4 = IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB9)
V6 = IPv6(src="fd00::1", dst="fd00::2", tc=0x2E)
OUTER = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=50000, dport=4789)
DATA = Raw(b"data of a packet")
_UDP = UDP(sport=1000, dport=53)
_TCP = TCP(sport=1000, dport=80, flags="SA", options=[("NOP", None)] * 4)


def _bytes(packet: Packet) -> bytes:
    return bytes(packet)


def _gpe(next_protocol: int, content: bytes) -> bytes:
    outer = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=50000, dport=4790)
    return _bytes(ETHERNET / outer / Raw(VxlanGpe(77, next_protocol).encode() + content))


def _carried() -> dict[str, bytes]:
    """In tunnels and behind an NSH."""
    v4, v6 = V4 / _UDP / DATA, V6 / _TCP / DATA
    nsh = over_ethernet(v4, Nsh(spi=1, next_protocol=1))
    return {
        "nsh of version 1": nsh[:14] + b"\x40" + nsh[15:],
        "vxlan": _bytes(ETHERNET / OUTER / VXLAN(vni=9, flags="Instance") / ETHERNET / v4),
        "vxlan with a tag inside": _bytes(
            ETHERNET / OUTER / VXLAN(vni=9, flags="Instance") / ETHERNET / Dot1Q(vlan=4) / v6
        ),
        "vxlan over IPv6": _bytes(
            ETHERNET / V6 / UDP(sport=5, dport=4789) / VXLAN(vni=9, flags="Instance") / ETHERNET
            / v4
        ),
        "vxlan without a VNI": _bytes(ETHERNET / OUTER / VXLAN(flags=0) / ETHERNET / v4),
        "vxlan cut off": _bytes(
            ETHERNET / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=4789) / Raw(b"1")
        ),
        "gpe with IPv4": _gpe(1, _bytes(v4)),
        "gpe with IPv6": _gpe(2, _bytes(v6)),
        "gpe with Ethernet": _gpe(3, _bytes(ETHERNET / v4)),
        "gpe with what is not known": _gpe(5, b"MPLS"),
        "nsh": over_ethernet(v4, Nsh(spi=0x123456, si=254, next_protocol=1)),
        "nsh with metadata of type 2": over_ethernet(
            v6, Nsh(spi=7, si=1, next_protocol=2, metadata=())
        ),
        "nsh with Ethernet": over_ethernet(v6, Nsh(spi=1, si=0, next_protocol=3)),
        "nsh in an nsh": over_ethernet(v4, Nsh(spi=1, next_protocol=4)),
        "nsh in vxlan-gpe": over_vxlan_gpe(v4, Nsh(spi=5, si=3, next_protocol=1)),
        "nsh in vxlan-gpe over IPv6": over_vxlan_gpe(v6, Nsh(spi=5, next_protocol=3), V6),
    }  # fmt: skip


def forms() -> dict[str, bytes]:
    """One frame of each form, by its name."""
    tagged = ETHERNET / Dot1Q(vlan=5, prio=6, dei=1)
    plain = {
        "udp": ETHERNET / V4 / _UDP / DATA,
        "tcp": ETHERNET / V4 / _TCP / DATA,
        "sctp": ETHERNET / V4 / SCTP(sport=7, dport=8) / SCTPChunkData(data=b"data"),
        "icmp": ETHERNET / V4 / ICMP(type=3, code=4) / DATA,
        "gre": ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2", proto=47) / DATA,
        "options of IPv4": ETHERNET / IP(src="10.0.0.1", options=[b"\x01"] * 8) / _UDP / DATA,
        "first fragment": ETHERNET / IP(src="10.0.0.1", flags="MF") / _UDP / DATA,
        "later fragment": ETHERNET / IP(src="10.0.0.1", proto=17, frag=9) / DATA,
        "udp over IPv6": ETHERNET / V6 / _UDP / DATA,
        "tcp over IPv6": ETHERNET / V6 / _TCP / DATA,
        "icmpv6": ETHERNET / V6 / ICMPv6EchoRequest(),
        "extensions": ETHERNET / V6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting()
        / IPv6ExtHdrFragment(offset=0, m=1) / IPv6ExtHdrDestOpt() / _UDP / DATA,
        "too many extensions": ETHERNET / V6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()
        / IPv6ExtHdrDestOpt() / IPv6ExtHdrDestOpt() / IPv6ExtHdrDestOpt() / _UDP,
        "later fragment of IPv6": ETHERNET / V6 / IPv6ExtHdrFragment(offset=5, nh=17) / DATA,
        "tag": tagged / V4 / _UDP / DATA,
        "two tags": ETHERNET / Dot1AD(vlan=3) / Dot1Q(vlan=5) / V6 / _TCP,
        "three tags": ETHERNET / Dot1AD(vlan=3) / Dot1Q(vlan=5) / Dot1Q(vlan=6) / V4 / _UDP,
        "a priority alone": ETHERNET / Dot1Q(vlan=0, prio=1) / V4 / _UDP,
        "arp": ETHERNET / ARP(),
        "802.3": Dot3(**MACS) / LLC() / DATA,
        "UDP shorter than its header": ETHERNET / IP(proto=17) / Raw(b"1234"),
        "TCP with a wrong offset": ETHERNET / V4 / TCP(dataofs=3) / DATA,
        "IPv4 of version 5": ETHERNET / IP(version=5) / DATA,
        "IPv4 longer than the frame": ETHERNET / IP(len=900) / _UDP,
        "IPv6 longer than the frame": ETHERNET / IPv6(plen=900) / _UDP,
    }  # fmt: skip
    return {**{name: _bytes(frame) for name, frame in plain.items()}, **_carried()}


def random_frames(seed: int, count: int) -> list[bytes]:
    """Frames of these forms, padded or not, a part of them damaged or cut off."""
    draw = random.Random(seed)
    sound = list(forms().values())
    made = []
    for _ in range(count):
        frame = bytearray(draw.choice(sound))
        if draw.random() < 0.2:
            frame += bytes(draw.randrange(1, 60))
        for _ in range(draw.choice((0, 0, 0, 1, 2))):
            frame[draw.randrange(12, len(frame))] = draw.randrange(256)
        if draw.random() < 0.1:
            del frame[draw.randrange(14, len(frame)) :]
        made.append(bytes(frame))
    return made


def udp_flow(number: int, size: int = 0) -> bytes:
    """A packet of the flow of this number."""
    template = _bytes(ETHERNET / IP(src="10.0.0.0", dst="10.9.9.9") / _UDP / Raw(bytes(size)))
    return template[:27] + number.to_bytes(3, "big") + template[30:]


def udp_flows(numbers: Iterable[int]) -> list[bytes]:
    """A packet of each of these flows. Nobody looks at checksums, and scapy takes 1 ms for each."""
    template = udp_flow(0)
    return [template[:27] + number.to_bytes(3, "big") + template[30:] for number in numbers]
