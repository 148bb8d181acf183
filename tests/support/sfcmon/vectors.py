"""Makes vnfs/sfcmon/vectors.json: frames that try each rule of the specification.

PYTHONPATH=tests python -m support.sfcmon.vectors
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from sfcperf.dataplane.nsh import ContextHeader, Nsh
from sfcperf.dataplane.nsh.frame import parse
from sfcperf.dataplane.nsh.header import NextProtocol
from sfcperf.sketches.hashing import hash32
from sfcperf.vnfs.sfcmon.model import Bank
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds
from support.sfcmon.frames import (
    GPE_PORT,
    MACS,
    over_ethernet,
    over_vxlan_gpe,
    tcp4,
    tcp6,
    udp4,
)

DESCRIPTION = (
    "Golden vectors of SFCMon for the reference configuration: docs/reference/sfcmon.md says what "
    "they mean."
)
ALL = Thresholds(eval=0, share=0, packets=0)
"""Each packet belongs to a heavy hitter."""
MD1 = Nsh(42, 255)
MD2 = Nsh(0xABCDEF, 7, metadata=(ContextHeader(0x0103, 1, b"\1\2\3\4\5"),))
PLAIN = {"src": "10.0.0.1", "dst": "10.0.1.1"}
PLAIN6 = {"src": "2001:db8::1", "dst": "2001:db8:1::2"}
OUTER6 = IPv6(src="2001:db8:f::1", dst="2001:db8:f::2")

Case = tuple[str, Thresholds, list[bytes], dict[str, Any] | None]


def document() -> dict[str, Any]:
    """All vectors."""
    keys = [parse(frame).flow for frame in (TCP4, TCP6)]
    return {
        "description": DESCRIPTION,
        "sizes": asdict(Sizes()),
        "hashes": [
            {"key": key.hex(), "by_seed": [hash32(key, seed) for seed in range(1, 23)]}
            for flow in keys
            for key in (flow.flow_id_1, flow.flow_id_2)
        ],
        "cases": [_worked(*case) for case in cases()],
    }


def cases() -> Iterator[Case]:
    """Name, thresholds, frames, registers before."""
    yield "one packet of IPv4", ALL, [TCP4], None
    yield "one packet of IPv6", ALL, [TCP6], None
    yield "a flow of three packets, of different sizes", ALL, _sizes(), None
    yield "encapsulations", ALL, _encapsulations(), None
    yield "protocols with and without ports", ALL, _protocols(), None
    yield "frames that cannot be parsed", ALL, _unparsable(), None
    yield "Threshold_Eval", Thresholds(3, 0, 0), [TCP4] * 4, None
    yield "a share of exactly a quarter", Thresholds(0, 1 << 30, 0), _quarter(), None
    yield "a number of packets", Thresholds(0, 0, 3), [TCP4] * 4, None
    yield "counters at their maximum", ALL, [TCP4, TCP4, TCP4[:20], TCP4[:20]], _nearly_full()
    yield "a Bloom filter false positive", ALL, [TCP4, TCP6], _bits_of(TCP4)
    yield "two paths, two IP versions, many flows", Thresholds(50, 1 << 26, 2), many(), None


def _worked(
    name: str, thresholds: Thresholds, frames: list[bytes], before: dict[str, Any] | None
) -> dict[str, Any]:
    bank = Bank(thresholds=thresholds)
    if before:
        bank.load(before)
    for frame in frames:
        bank.receive(frame)
    case = {"name": name, "thresholds": asdict(thresholds)}
    case |= {"before": before} if before else {}
    return case | {"frames": [frame.hex() for frame in frames], "after": bank.registers()}


TCP4 = over_ethernet(tcp4(**PLAIN, size=10), MD1)
TCP6 = over_ethernet(tcp6(**PLAIN6, size=20), MD1)


def _sizes() -> list[bytes]:
    frames = [over_ethernet(tcp4(**PLAIN, size=size), MD1) for size in (0, 1, 1400)]
    # Padding of Ethernet counts no more than encapsulation does.
    return [frames[0] + bytes(6), *frames[1:]]


def _encapsulations() -> list[bytes]:
    v4, v6 = udp4(**PLAIN), tcp6(**PLAIN6)
    bare = [
        (v4, replace(MD1, next_protocol=NextProtocol.IPV4)),
        (v6, replace(MD2, next_protocol=NextProtocol.IPV6)),
    ]
    options = IP(src="192.0.2.1", dst="192.0.2.2", options=[b"\1\1\1\1"])
    every = [
        *bare,
        (v4, MD1),
        (v6, MD2),
        (v4, replace(MD2, metadata=())),
        (v6, replace(MD1, oam=True)),
    ]
    return [
        *(over_ethernet(*one) for one in every),
        *(over_vxlan_gpe(*one) for one in every),
        *(over_vxlan_gpe(*one, outer=OUTER6) for one in every),
        over_vxlan_gpe(v4, MD1, outer=options),
    ]


def _protocols() -> list[bytes]:
    ports = bytes.fromhex("12345678")
    ip, ip6 = IP(**PLAIN), IPv6(**PLAIN6)
    fragment = IP(**PLAIN, flags="MF") / UDP(sport=1, dport=2) / Raw(bytes(16))
    packets = [
        ip / ICMP(),
        *(IP(**PLAIN, proto=proto) / Raw(ports) for proto in (6, 17, 33, 132, 136, 50, 0, 255)),
        *(IPv6(**PLAIN6, nh=proto) / Raw(ports) for proto in (6, 17, 33, 132, 136, 58, 255)),
        fragment,
        IP(**PLAIN, frag=3, proto=17) / Raw(bytes(16)),
        IP(**PLAIN, flags="DF") / UDP(sport=1, dport=2),
        IP(**PLAIN, options=[b"\1\1\1\1"]) / UDP(sport=3, dport=4),
        ip6 / IPv6ExtHdrHopByHop() / UDP(sport=5, dport=6),
        ip6 / IPv6ExtHdrFragment() / UDP(sport=5, dport=6),
        # No checksum is verified.
        IP(**PLAIN, chksum=1) / UDP(sport=7, dport=8, chksum=1),
    ]
    return [over_ethernet(packet, MD1) for packet in packets]


def _unparsable() -> list[bytes]:
    gpe = over_vxlan_gpe(udp4(**PLAIN), MD1)
    outer = {"src": "192.0.2.1", "dst": "192.0.2.2"}
    not_nsh = [
        bytes(Ether(**MACS) / ARP()),
        bytes(Ether(**MACS) / Dot1Q(vlan=5, type=0x894F) / Raw(TCP4[14:])),
        bytes(Ether(**MACS) / tcp4(**PLAIN)),
        bytes(Ether(**MACS) / tcp6(**PLAIN6)),
        bytes(Ether(**MACS) / udp4(**PLAIN, size=20)),
        bytes(Ether(**MACS) / IP(**outer, flags="MF") / UDP(dport=GPE_PORT) / Raw(gpe[42:])),
        bytes(Ether(**MACS) / IP(**outer, frag=1) / UDP(dport=GPE_PORT) / Raw(gpe[42:])),
        _changed(gpe, 14, 0x65),  # version 6 in EtherType IPv4
        _changed(gpe, 14, 0x44),  # an IHL of 4
        _changed(gpe, 42, 0x08),  # VXLAN-GPE without the flag P
        _changed(gpe, 42, 0x04),  # without the flag I
        _changed(gpe, 42, 0x1C),  # version 1
        _changed(gpe, 45, 3),  # next protocol Ethernet
    ]
    nsh = [
        _changed(TCP4, 14, 0x4F),  # version 1
        _changed(TCP4, 16, 0),  # MD type 0
        _changed(TCP4, 16, 3),
        _changed(TCP4, 15, 0xC5),  # MD type 1 of 5 words
        _changed(_changed(TCP4, 16, 2), 15, 0xC1),  # MD type 2 of 1 word
    ]
    not_ip = [
        over_ethernet(ARP(), MD1),
        over_ethernet(Dot1Q(vlan=5) / tcp4(**PLAIN), MD1),
        *(_changed(TCP4, 17, protocol) for protocol in (0, 4, 5, 255)),
    ]
    at = 14 + 24 + 14  # the inner IP header
    ip = [
        _changed(TCP4, at, 0x65),
        _changed(TCP4, at, 0x44),
        _changed(_changed(TCP4, at + 2, 0), at + 3, 19),  # Total Length
        _changed(_changed(TCP4, at + 2, 0), at + 3, 23),  # no room for ports
        _changed(TCP6, at, 0x45),
        _changed(_changed(TCP6, at + 4, 0), at + 5, 3),
        over_ethernet(tcp4(**PLAIN), replace(MD1, next_protocol=2))[:38] + TCP4[at:] + bytes(40),
    ]
    # An interface takes no frame of less than 14 bytes.
    ends = (14, 21, 22, 37, 38, 51, 52, 71, 72, 75)
    truncated = [TCP4[:end] for end in ends] + [TCP6[:end] for end in (52, 91, 92, 95)]
    truncated += [gpe[:end] for end in (14, 33, 34, 41, 42, 49, 50)]
    return [*not_nsh, *nsh, *not_ip, *ip, *truncated]


def _changed(frame: bytes, at: int, value: int) -> bytes:
    return frame[:at] + bytes([value]) + frame[at + 1 :]


def _quarter() -> list[bytes]:
    others = [over_ethernet(udp4(f"10.9.0.{n}", "10.0.1.1"), MD1) for n in range(1, 8)]
    # Shares of TCP4 when it comes: 1/4, then 2/9, then 3/10.
    return [*others[:3], TCP4, *others[3:], TCP4, TCP4]


def _nearly_full() -> dict[str, Any]:
    """What one more packet fills, and another one overfills."""
    bank = Bank(thresholds=ALL)
    bank.receive(TCP4)
    before = bank.registers()
    return {
        "packets": 2**32 - 2,
        "unparsed": [0, 0, 0, 0, 2**32 - 2],
        "cms": [[row, column, 2**24 - 2] for row, column, _ in before["cms"]],
        "bloom": before["bloom"],
        "iblt": [
            [*cell[:4], 2**32 - 1 - place, 2**64 - 1 - place]
            for place, cell in enumerate(before["iblt"])
        ],
    }


def _bits_of(frame: bytes) -> dict[str, Any]:
    bank = Bank(thresholds=ALL)
    bank.receive(frame)
    empty = Bank().registers()
    return empty | {"bloom": bank.registers()["bloom"]}


def many() -> list[bytes]:
    rng = random.Random(15)
    frames = []
    for _ in range(300):
        source = int(rng.paretovariate(0.7)) % 250
        make, head = rng.choice([(tcp4, "10.1.0."), (tcp6, "2001:db8:a::")])
        packet = make(
            f"{head}{source}", f"{head}254", sport=1024 + rng.randrange(3), size=rng.randrange(50)
        )
        wrap = rng.choice([over_ethernet, over_vxlan_gpe])
        frames.append(wrap(packet, rng.choice([MD1, replace(MD1, si=254)])))
    return frames


def main() -> None:
    """Write the file."""
    target = Path(str(files("sfcperf.vnfs.sfcmon"))) / "vectors.json"
    text = json.dumps(document(), separators=(",", ":"))
    # A line per case, so that a difference shows where it is.
    for start in ('{"name"', '{"key"', '"cases"', '"hashes"', '"sizes"'):
        text = text.replace(start, f"\n{start}")
    target.write_text(text + "\n")
    print(target)


if __name__ == "__main__":
    main()
