"""Frames that reach SFCMon, made by scapy around our NSH codec."""

from __future__ import annotations

import random

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sfcperf.dataplane.nsh import Nsh, VxlanGpe
from sfcperf.dataplane.nsh.header import ETHERTYPE, NextProtocol

MACS = {"dst": "02:00:00:00:00:02", "src": "02:00:00:00:00:01"}
GPE_PORT = 4790


def inner(packet: Packet, nsh: Nsh) -> bytes:
    """What follows the outer header: the NSH and the packet."""
    if nsh.next_protocol == NextProtocol.ETHERNET:
        packet = Ether(**MACS) / packet
    return nsh.encode() + bytes(packet)


def over_ethernet(packet: Packet, nsh: Nsh) -> bytes:
    return bytes(Ether(**MACS, type=ETHERTYPE) / Raw(inner(packet, nsh)))


def over_vxlan_gpe(packet: Packet, nsh: Nsh, outer: Packet | None = None) -> bytes:
    outer = outer or IP(src="192.0.2.1", dst="192.0.2.2")
    payload = VxlanGpe(7).encode() + inner(packet, nsh)
    return bytes(Ether(**MACS) / outer / UDP(sport=50000, dport=GPE_PORT) / Raw(payload))


def udp4(src: str, dst: str, sport: int = 1000, dport: int = 53, size: int = 0) -> Packet:
    return IP(src=src, dst=dst) / UDP(sport=sport, dport=dport) / Raw(bytes(size))


def tcp4(src: str, dst: str, sport: int = 1000, dport: int = 80, size: int = 0) -> Packet:
    return IP(src=src, dst=dst) / TCP(sport=sport, dport=dport) / Raw(bytes(size))


def tcp6(src: str, dst: str, sport: int = 1000, dport: int = 443, size: int = 0) -> Packet:
    return IPv6(src=src, dst=dst) / TCP(sport=sport, dport=dport) / Raw(bytes(size))


def random_frames(seed: int, count: int) -> list[bytes]:
    """Frames of a few sources and many flows, a tenth of them damaged."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        source, flow = draw.randrange(1, 6), draw.randrange(1, 60)
        packet = draw.choice(
            [
                udp4(f"10.0.0.{source}", "10.1.0.1", 1000 + flow, size=draw.randrange(20)),
                tcp4(f"10.0.0.{source}", "10.1.0.1", 1000 + flow),
                tcp6(f"fd00::{source}", "fd00:1::1", 1000 + flow),
            ]
        )
        protocol = 2 if packet.version == 6 else 1
        nsh = Nsh(spi=draw.randrange(1, 3), si=255, next_protocol=draw.choice([protocol, 3]))
        frame = draw.choice([over_ethernet, over_vxlan_gpe])(packet, nsh)
        if draw.random() < 0.1:
            at = draw.randrange(12, len(frame))
            frame = frame[:at] + bytes([draw.randrange(256)]) + frame[at + 1 :]
        if draw.random() < 0.05:
            frame = frame[: draw.randrange(14, len(frame))]
        made.append(frame)
    return made
