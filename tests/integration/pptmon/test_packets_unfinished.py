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


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("outer", [4, 6])
@pytest.mark.parametrize("inside", INSIDE)
def test_an_outer_checksum_that_the_hardware_computes(
    chain_of: Callable[..., Chain], outer: int, inside: str, tmp_path: Path
) -> None:
    chain = chain_of(3, offloads=True)
    chain.start("--period-ms", "0", "--format", "rfc")
    whole = FRAMES[f"gpe{outer}-set/{inside}"]
    frame, offload = unfinished_outside(whole)
    assert finished_by_hardware(frame, offload) == whole
    *between, received = chain.exchange_with(frame, offload)
    on_wire = []
    for number, seen in enumerate(between, 1):
        [finished] = [finished_by_hardware(*one) for one in seen]
        assert wrong_with(finished, whole, number) is None
        on_wire.append(finished)
    assert [finished_by_hardware(*one) for one in received] == [whole]
    assert {one.wrong for one in judge(on_wire, tmp_path)} == {()}
    [sample] = chain.sink.samples(1)
    assert [hop.vnf_id for hop in sample.hops] == [1, 2, 3]


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


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize(("size", "measured"), [(1, False), (8, False), (40, False), (100, True)])
def test_super_packets_of_tiny_segments(
    chain_of: Callable[..., Chain], version: int, size: int, measured: bool
) -> None:
    """The header takes its room from each segment: where there is too little, nothing is done."""
    chain = chain_of(2, offloads=True)
    chain.start("--period-ms", "0", "--format", "rfc")
    transport = tcp(flags="A", data=(DATA * 2)[: size * 3])
    frame, offload = super_packet(version, transport, GSO_TCP[version], size)
    between, received = chain.exchange_with(frame, offload)
    [(_, left)] = between
    assert left.gso_size == size - 12 * measured
    [(_, restored)] = received
    assert restored.gso_size == size
    counters = chain.source.counters()
    assert (counters["sampled"], counters["unsupported"]) == (measured, not measured)


@pytest.mark.parametrize("version", [4, 6])
def test_segments_do_not_become_too_long_where_the_header_is_taken_out(
    chain_of: Callable[..., Chain], version: int
) -> None:
    """GRO joins packets that got headers one by one, so that they were never cut for them."""
    chain = chain_of(2, mtu=1540, offloads=True)
    egress = chain.ports[1][1].interface
    chain.vnfs.run(["ip", "link", "set", egress, "mtu", "1500"], timeout_s=10)
    chain.start("--period-ms", "0", "--format", "rfc")
    data = (DATA * 80)[:20_000]
    size = 1512 - (20 if version == 4 else 40) - 20
    frame, offload = super_packet(version, tcp(flags="A", data=data), GSO_TCP[version], size)
    [(_, between)], [(received, left)] = chain.exchange_with(frame, offload)
    assert between.gso_size == left.gso_size == size - 12
    assert without_checksum(received) == without_checksum(frame)
    [sample] = chain.sink.samples(1)
    assert sample.flags == {"truncated", "segment"}
