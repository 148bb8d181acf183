"""What SFCMon is compared with on bmv2: a per-flow table, and no monitoring."""

from __future__ import annotations

from collections.abc import Iterator

import finsy
import pytest
from finsy.p4entity import P4CounterEntry, P4DirectCounterEntry, P4TableEntry
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet
from support.vnfs.bmv2_bench import TO, Bmv2Bench
from support.vnfs.sff_bench import CLIENT, PORT_LINK, PORT_NSH, SERVER, on_ethernet, on_gpe
from support.vnfs.sff_model import expected, without_choice

from sfcperf.vnfs.sfcmon.bmv2.programs import Program

pytestmark = [pytest.mark.root, pytest.mark.bmv2]

SPI, SI = 0x010203, 7
PATHS = {(SPI + place, SI): action for place, action in enumerate(TO)}
ETHER = Ether(src=CLIENT, dst=SERVER)
OLD = ETHER / IP(src="198.18.0.1", dst="198.18.0.2") / UDP(sport=1, dport=9)
NEW = ETHER / IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=2, dport=80)


@pytest.fixture(scope="module", params=[Program.TABLE, Program.PLAIN])
def bench(request: pytest.FixtureRequest) -> Iterator[Bmv2Bench]:
    with Bmv2Bench(request.param) as bench:
        bench.paths(PATHS)
        yield bench


def _nsh(inner: Packet, spi: int = SPI) -> Packet:
    return NSH(spi=spi, si=SI, ttl=9, nextproto=3, context_header=bytes(16)) / inner


@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
def test_packets_are_forwarded_alike(bench: Bmv2Bench, port: int) -> None:
    carry = on_ethernet if port == PORT_NSH else on_gpe
    for spi, _ in PATHS:
        for inner in (OLD, NEW):
            frame = bytes(carry(_nsh(inner, spi)))
            leaves, answer = bench.one(port, frame)
            assert without_choice(leaves, answer) == expected(port, frame, PATHS)


def _flow(protocol: int, version: int, ports: tuple[int, int], *addresses: int) -> P4TableEntry:
    match = finsy.Match(
        path=SPI << 8 | SI,
        kind=protocol << 24 | version << 16,
        ports=ports[0] << 16 | ports[1],
        source=addresses[0],
        destination=addresses[1],
    )
    return P4TableEntry("flows", match=match, action=finsy.Action("count"))


@pytest.mark.parametrize("bench", [Program.TABLE], indirect=True)
def test_flows_of_the_table_are_counted(bench: Bmv2Bench) -> None:
    new = 0x20010DB8 << 96
    flows = [_flow(17, 4, (1, 9), 0xC6120001, 0xC6120002), _flow(6, 6, (2, 80), new | 1, new | 2)]
    bench.control.insert(flows)
    other = ETHER / IP(src="198.18.0.1", dst="198.18.0.2") / UDP(sport=1, dport=10)
    frames = [on_ethernet(_nsh(inner)) for inner in (OLD, NEW, OLD, other, ETHER / ARP())]
    before = bench.control.read(P4CounterEntry("unparsed", index=2))[0].packet_count
    bench.exchange(PORT_NSH, frames)
    counts = {
        entry.table_entry.match["ports"]: (entry.packet_count, entry.byte_count)
        for entry in bench.control.read(P4DirectCounterEntry("flow_counters"))
    }
    assert counts == {
        1 << 16 | 9: (2, 2 * len(frames[0])),
        2 << 16 | 80: (1, len(frames[1])),
    }
    after = bench.control.read(P4CounterEntry("unparsed", index=2))[0].packet_count
    assert after - before == 1
