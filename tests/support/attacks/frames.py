"""Frames that carry an IP packet past a classifier that does not find it, to a receiver that does.

Linux takes off any number of tags of priority (VLAN 0), so that some of these reach a UDP socket.
"""

from __future__ import annotations

from collections.abc import Callable

from scapy.contrib.mpls import MPLS
from scapy.contrib.nsh import NSH
from scapy.layers.l2 import LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.packet import Packet, Raw

UNPARSED: dict[str, Callable[[str, str, Packet], Packet]] = {
    "priority tag": lambda src, dst, ip: Ether(src=src, dst=dst) / Dot1Q(vlan=0) / ip,
    "priority tag of a provider": lambda src, dst, ip: (
        Ether(src=src, dst=dst, type=0x88A8) / Dot1AD(vlan=0) / ip
    ),
    "VLAN tag": lambda src, dst, ip: Ether(src=src, dst=dst) / Dot1Q(vlan=7) / ip,
    "two tags": lambda src, dst, ip: (
        Ether(src=src, dst=dst, type=0x88A8) / Dot1AD(vlan=0) / Dot1Q(vlan=0) / ip
    ),
    "three tags": lambda src, dst, ip: (
        Ether(src=src, dst=dst) / Dot1Q(vlan=0) / Dot1Q(vlan=0) / Dot1Q(vlan=0) / ip
    ),
    "tag 0x9100": lambda src, dst, ip: (
        Ether(src=src, dst=dst, type=0x9100) / Raw(bytes(2) + b"\x08\x00") / ip
    ),
    "MPLS": lambda src, dst, ip: Ether(src=src, dst=dst, type=0x8847) / MPLS(label=16, s=1) / ip,
    "PPPoE": lambda src, dst, ip: (
        Ether(src=src, dst=dst, type=0x8864) / PPPoE(sessionid=1) / PPP(proto=0x21) / ip
    ),
    "SNAP": lambda src, dst, ip: (
        Dot3(src=src, dst=dst) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(OUI=0, code=0x0800) / ip
    ),
    "NSH": lambda src, dst, ip: (
        Ether(src=src, dst=dst, type=0x894F)
        / NSH(spi=42, si=1, context_header=bytes(16))
        / Ether(src=src, dst=dst)
        / ip
    ),
}
"""What it is called -> the frame from one MAC address to another with this packet of IPv4."""
READ_BY_LINUX = ("priority tag", "priority tag of a provider", "two tags", "three tags")
"""Those whose packet Linux hands to sockets."""
