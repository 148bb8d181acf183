"""Checksums to compute that are not those of the transport; sizes of segments at their limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.vxlan import VXLAN
from scapy.utils import checksum
from support.network.frames_judge import judge
from support.pptmon.bench import Chain
from support.pptmon.offloads import (
    GSO_TCP,
    finished_by_hardware,
    super_packet,
    unfinished,
    without_checksum,
    wrong_with,
)
from support.pptmon.tap import NEEDS_CSUM, Offload
from support.pptmon.zoo import DATA, FRAMES, ethernet, network, tcp, udp
from support.pptmon_model.layers import Kind, walk

pytestmark = pytest.mark.root

INSIDE = ["md1/ipv4/tcp", "md1/ipv4/udp-odd", "md1/ipv6/udp", "md2/ipv4/tcp", "md2-others/ipv6/udp"]


def unfinished_outside(frame: bytes) -> tuple[bytes, Offload]:
    """As a process sends VXLAN-GPE: the hardware is to compute the outer UDP checksum."""
    network_, outer = walk(frame)[1:3]
    assert outer.kind is Kind.UDP
    addresses = frame[network_.start + 12 : network_.start + 20]
    if network_.kind is Kind.IPV6:
        addresses = frame[network_.start + 8 : network_.start + 40]
    length = int.from_bytes(frame[outer.start + 4 : outer.start + 6], "big")
    pseudo = addresses + length.to_bytes(4, "big") + (17).to_bytes(4, "big")
    data = bytearray(frame)
    data[outer.start + 6 : outer.start + 8] = (0xFFFF ^ checksum(pseudo)).to_bytes(2, "big")
    return bytes(data), Offload(outer.start, 6, flags=NEEDS_CSUM)


def test_an_outer_checksum_that_the_hardware_computes(
    chain_of: Callable[..., Chain], tmp_path: Path
) -> None:
    chain = chain_of(3, offloads=True)
    chain.start("--period-ms", "0", "--format", "rfc")
    names = [f"gpe{outer}-set/{inside}" for outer in (4, 6) for inside in INSIDE]
    on_wire = []
    for name in names:
        frame, offload = unfinished_outside(FRAMES[name])
        assert finished_by_hardware(frame, offload) == FRAMES[name]
        *between, received = chain.exchange_with(frame, offload)
        for number, seen in enumerate(between, 1):
            [finished] = [finished_by_hardware(*one) for one in seen]
            assert wrong_with(finished, FRAMES[name], number) is None, name
            on_wire.append(finished)
        assert [finished_by_hardware(*one) for one in received] == [FRAMES[name]]
    assert {one.wrong for one in judge(on_wire, tmp_path)} == {()}
    samples = chain.sink.samples(len(names))
    assert [[hop.vnf_id for hop in sample.hops] for sample in samples] == [[1, 2, 3]] * len(names)


def test_a_checksum_of_the_packet_in_a_tunnel(chain_of: Callable[..., Chain]) -> None:
    """VXLAN of a virtual machine: a trailer behind it would be summed, so there is none."""
    chain = chain_of(2, offloads=True)
    chain.start("--period-ms", "0", "--format", "rfc")
    inner, offload = unfinished(FRAMES["ipv4/tcp"])
    tunnel = ethernet() / network(4) / udp(dport=4789, chksum=0, data=b"") / VXLAN(vni=7)
    headers = len(bytes(tunnel))
    frame = bytes(ethernet() / network(4) / udp(dport=4789, chksum=0, data=bytes(VXLAN()) + inner))
    moved = Offload(offload.csum_start + headers, offload.csum_offset, flags=NEEDS_CSUM)
    between, received = chain.exchange_with(frame, moved)
    assert between == received == [(frame, moved)]
    assert chain.source.counters()["unsupported"] == 1


def test_super_packets_of_tiny_segments(chain_of: Callable[..., Chain]) -> None:
    """The header takes its room from each segment: where there is too little, nothing is done."""
    chain = chain_of(2, offloads=True)
    chain.start("--period-ms", "0", "--format", "rfc")
    for version in (4, 6):
        for size, measured in ((1, False), (8, False), (40, False), (100, True)):
            transport = tcp(flags="A", data=(DATA * 2)[: size * 3])
            frame, offload = super_packet(version, transport, GSO_TCP[version], size)
            [(_, left)], [(_, restored)] = chain.exchange_with(frame, offload)
            assert (left.gso_size, restored.gso_size) == (size - 12 * measured, size)
    counters = chain.source.counters()
    assert (counters["sampled"], counters["unsupported"]) == (2, 6)


def test_segments_do_not_become_too_long_where_the_header_is_taken_out(
    chain_of: Callable[..., Chain],
) -> None:
    """GRO joins packets that got headers one by one, so that they were never cut for them."""
    chain = chain_of(2, mtu=1540, offloads=True)
    egress = chain.ports[1][1].interface
    chain.vnfs.run(["ip", "link", "set", egress, "mtu", "1500"], timeout_s=10)
    chain.start("--period-ms", "0", "--format", "rfc")
    for version in (4, 6):
        transport = tcp(flags="A", data=(DATA * 80)[:20_000])
        size = 1512 - (20 if version == 4 else 40) - 20
        frame, offload = super_packet(version, transport, GSO_TCP[version], size)
        [(_, between)], [(received, left)] = chain.exchange_with(frame, offload)
        assert between.gso_size == left.gso_size == size - 12
        assert without_checksum(received) == without_checksum(frame)
    assert [one.flags for one in chain.sink.samples(2)] == [{"truncated", "segment"}] * 2
