"""sfc-ids with captures, and the packets that they are made of."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

from scapy.contrib.nsh import NSH
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from sfcperf.vnfs.ids.function import BINARY
from support.needs import compiled
from support.vnfs.flow_reference import Record

MACS = {"src": "02:00:00:00:aa:01", "dst": "02:00:00:00:aa:02"}
WRAPPERS = ("plain", "vlan", "nsh-md1", "nsh-md2-ethernet", "vxlan-gpe")

Frames = Sequence[tuple[int, bytes]]
"""Time in ns, Ethernet frame."""


def capture(frames: Frames) -> bytes:
    """A pcap file with times in ns."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)]
    for time_ns, frame in frames:
        seconds, rest = divmod(time_ns, 10**9)
        parts += [struct.pack("<IIII", seconds, rest, len(frame), len(frame)), frame]
    return b"".join(parts)


def run(data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Extract from a capture on standard input."""
    return subprocess.run(
        [compiled(BINARY), "--pcap", "-", *options], input=data, capture_output=True, timeout=60
    )


def printed(output: bytes) -> list[dict[str, Any]]:
    """Records as JSON."""
    return [json.loads(line) for line in output.splitlines()]


def extract(frames: Frames, *options: str) -> list[dict[str, Any]]:
    """Records of a capture."""
    done = run(capture(frames), *options)
    assert done.returncode == 0, done.stderr
    return printed(done.stdout)


def as_records(found: Iterable[dict[str, Any]]) -> list[Record]:
    """As the reference has them."""
    records = [(r["kind"], r["first_ns"], r["last_ns"], tuple(r["features"])) for r in found]
    early = [record for record in records if record[0] == "early"]
    return early + sorted((record for record in records if record[0] != "early"), key=repr)


def wrapped(packet: Packet, how: str) -> bytes:
    """An IP packet as a frame."""
    version = 6 if packet.haslayer(IPv6) else 4
    ethernet = Ether(**MACS)
    if how == "plain":
        return bytes(ethernet / packet)
    if how == "vlan":
        return bytes(ethernet / Dot1Q(vlan=7) / packet)
    if how == "nsh-md2-ethernet":
        nsh = NSH(spi=1, si=9, mdtype=2, vlch=[], nextproto=3)
        return bytes(ethernet / nsh / Ether(**MACS) / packet)
    nsh = NSH(spi=1, si=9, context_header=bytes(16), nextproto={4: 1, 6: 2}[version])
    if how == "nsh-md1":
        return bytes(ethernet / nsh / packet)
    tunnel = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=50000, dport=4790)
    return bytes(ethernet / tunnel / VXLAN(flags=0x0C, NextProtocol=4) / Raw(bytes(nsh / packet)))


def packet(
    version: int,
    source: int,
    destination: int,
    ports: tuple[int, int],
    transport: str,
    *,
    flags: str = "",
    dscp: int = 0,
    payload: int = 0,
    options: bool = False,
) -> Packet:
    """An IP packet between two of some hosts."""
    hosts = [f"10.0.0.{n}" if version == 4 else f"2001:db8::{n}" for n in (source, destination)]
    ends = dict(zip(("src", "dst"), hosts, strict=True))
    rest: Packet = Raw(bytes(payload))
    if transport == "tcp":
        extra = [("Timestamp", (1, 2)), ("NOP", None), ("NOP", None)] if options else []
        rest = TCP(sport=ports[0], dport=ports[1], flags=flags, options=extra) / rest
    elif transport == "udp":
        rest = UDP(sport=ports[0], dport=ports[1]) / rest
    elif transport == "icmp":
        rest = ICMP() / rest
    if version == 4:
        more = {"flags": "MF"} if transport == "fragment" else {}
        number = {"tcp": 6, "udp": 17, "icmp": 1, "fragment": 17}[transport]
        some = b"\x01\x01\x01\x00" if options else b""
        header = IP(**ends, tos=dscp << 2, proto=number, options=_ip_options(some), **more)
        return header / rest
    header = IPv6(**ends, tc=dscp << 2)
    if options:
        header = header / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()
    if transport == "fragment":
        return header / IPv6ExtHdrFragment(nh=17, offset=3, m=1) / rest
    return header / rest


def _ip_options(data: bytes) -> list[Packet]:
    from scapy.layers.inet import IPOption_EOL, IPOption_NOP

    return [IPOption_NOP() if byte else IPOption_EOL() for byte in data]
