"""Frames that reach SFCMon, made by scapy around our NSH codec."""

from __future__ import annotations

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from sfcperf.vnfs.nsh import Nsh, VxlanGpe
from sfcperf.vnfs.nsh.header import ETHERTYPE, NextProtocol

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
