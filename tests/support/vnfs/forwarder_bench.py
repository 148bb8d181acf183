"""A running forwarder, as its SFF sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scapy.contrib.nsh import NSH
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from sfcperf.vnfs.forwarder.function import RunningForwarder
from support.network.wires import Port, Wire, eventually

SFF_ADDRESS, SF_ADDRESS = "198.18.0.1", "198.18.0.2"
SENTINEL_SPI = 0xABCDEF


@dataclass(frozen=True)
class Bench:
    """A running forwarder, seen from its SFF."""

    function: RunningForwarder
    wire: Wire
    sff: Port
    sf: Port

    def frame(self, payload: Packet, **ethernet: str | int) -> Packet:
        """A frame from the SFF to the forwarder."""
        return Ether(**({"src": self.sff.mac, "dst": self.sf.mac} | ethernet)) / payload

    def from_sff(self, packet: Packet, encapsulation: str = "nsh-eth", **ethernet: str) -> Packet:
        """A packet with its NSH, as an SFF sends it."""
        if encapsulation == "nsh-eth":
            return self.frame(packet, type=0x894F, **ethernet)
        outer = IP(src=SFF_ADDRESS, dst=SF_ADDRESS) / UDP(sport=50000, dport=4790)
        tunnel = VXLAN(flags=0x0C, NextProtocol=4, vni=7)
        return self.frame(outer / tunnel / Raw(bytes(packet)), **ethernet)

    def check_silence(self, good: Packet) -> None:
        """The kernel of the function's host does not answer tunnelled packets with `port
        unreachable`."""
        neighbour = ["neighbour", "replace", SFF_ADDRESS, "lladdr", self.sff.mac, "dev", "sf0"]
        self.sf.host.run(["ip", *neighbour], timeout_s=10)
        tunnelled = self.from_sff(good, "nsh-vxlan-gpe")
        answers = self.exchange(*[tunnelled] * 20) + self.exchange()
        assert len(answers) == 20
        assert not any(Ether(answer).haslayer(ICMP) for answer in answers)

    def exchange(self, *frames: Packet | bytes) -> list[bytes]:
        """Send frames and give all that comes back before a sentinel sent after them does."""
        sentinel = self.frame(NSH(spi=SENTINEL_SPI, si=99, context_header=bytes(16)) / Raw(b"end"))
        self.wire.send([bytes(frame) for frame in frames] + [bytes(sentinel)])
        return self.wire.receive_until(_is_sentinel)

    def counted(self, condition: Callable[[Mapping[str, int]], bool]) -> Mapping[str, int]:
        """Counters, once they are as they should be (packets may be on their way)."""
        eventually(lambda: condition(self.function.counters()))
        return self.function.counters()


def _is_sentinel(frame: bytes) -> bool:
    return frame[12:14] == b"\x89\x4f" and frame[18:21] == SENTINEL_SPI.to_bytes(3, "big")
