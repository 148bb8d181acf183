"""A running nsh_firewall, seen from its SFF, and frames for it."""

from __future__ import annotations

from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from sfcperf.vnfs.nsh_firewall.function import NshFirewall
from sfcperf.vnfs.nsh_firewall.tool import BINARY
from support.needs import compiled
from support.network.wires import Lab
from support.vnfs.attached import started_behind_sff
from support.vnfs.forwarder_bench import SF_ADDRESS, SFF_ADDRESS, Bench
from support.vnfs.rule_client import RuleClient

A, B = "192.0.2.1", "198.51.100.2"
A6, B6 = "2001:db8::1", "2001:db8::2"
CONTEXT = bytes(16)
END_SPI = 0xABCDEE


class FireBench(Bench):
    """A running firewall, seen from its SFF."""

    def exchange(self, *frames: Packet | bytes) -> list[bytes]:
        """As the forwarder's, with a last frame that no rule is about."""
        end = self.frame(NSH(spi=END_SPI, si=99, context_header=CONTEXT) / Ether() / ARP())
        self.wire.send([bytes(frame) for frame in frames] + [bytes(end)])
        return self.wire.receive_until(
            lambda frame: frame[12:14] == b"\x89\x4f" and frame[18:21] == END_SPI.to_bytes(3, "big")
        )


Fire = tuple[FireBench, RuleClient]


def start(lab: Lab, **knobs: object) -> Fire:
    """A firewall behind a veth, as the forwarder's bench."""
    compiled(BINARY)
    bench = started_behind_sff(lab, NshFirewall, "fw-1", knobs, FireBench)
    client = RuleClient(bench.function.rule_interface())
    lab.at_end(client.client.close)
    return bench, client


def in_ethernet(inner: Packet) -> Packet:
    return Ether(src="02:00:00:00:aa:01", dst="02:00:00:00:aa:02") / inner


def framed(bench: Bench, inner: Packet, how: str = "ethernet") -> Packet:
    """A frame from the SFF with this packet behind the NSH."""
    version = 2 if isinstance(inner, IPv6) else 1
    if how == "plain":
        return bench.frame(NSH(spi=42, nextproto=version, context_header=CONTEXT) / inner)
    if how == "md2":
        header = NSH(spi=42, mdtype=2, vlch=[], nextproto=3)
        return bench.frame(header / in_ethernet(inner))
    if how == "vlan":
        tagged = Ether(dst="02:00:00:00:aa:02") / Dot1Q(vlan=5) / Dot1Q(vlan=6) / inner
        return bench.frame(NSH(spi=42, context_header=CONTEXT) / tagged)
    packet = NSH(spi=42, context_header=CONTEXT) / in_ethernet(inner)
    if how == "vxlan-gpe":
        tunnel = VXLAN(flags=0x0C, NextProtocol=4, vni=7) / Raw(bytes(packet))
        return bench.frame(IP(src=SFF_ADDRESS, dst=SF_ADDRESS) / UDP(dport=4790) / tunnel)
    return bench.frame(packet)


FORMS = ["ethernet", "plain", "md2", "vlan", "vxlan-gpe"]


def through(bench: Bench, *inner: Packet, how: str = "ethernet") -> list[int]:
    """Which of these packets come back: their places."""
    returned = bench.exchange(*(framed(bench, each, how) for each in inner))
    # What came back is what was sent, but for addresses and SI: found by its end.
    ends = [bytes(each)[-24:] for each in inner]
    assert len(set(ends)) == len(ends)
    return [ends.index(frame[-24:]) for frame in returned]


def marked(packet: Packet, number: int) -> Packet:
    """With an end of its own, for `through`."""
    return packet / Raw(bytes(20) + number.to_bytes(4, "big"))


def flow4(number: int = 0, sport: int = 1000, dport: int = 53, kind: type[Packet] = UDP) -> Packet:
    return marked(IP(src=A, dst=B) / kind(sport=sport, dport=dport), number)
