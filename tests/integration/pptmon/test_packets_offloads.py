"""Packets with work left for the hardware: checksums to compute, super-packets to cut.

They are put on a veth as a virtual machine would, with the header of virtio, and looked at in the
same way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
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
from support.pptmon_model import packet
from support.pptmon_model.format import Format

pytestmark = pytest.mark.root

GSO_UDP_L4 = 5
PARTIAL = [
    "ipv4/tcp", "ipv6/tcp", "ipv4/tcp-timestamps", "ipv4/tcp-odd", "ipv4/tcp-syn", "ipv4/udp",
    "ipv4/udp-odd", "ipv6/udp", "ipv6/udp-odd", "ipv4/udp-one-byte", "ipv4/udp-empty",
    "vlan/ipv4/tcp", "vlan/ipv6/udp-odd", "ipv4-options/udp-odd", "ipv6-hop-by-hop/tcp-timestamps",
    "nsh/md1/ipv4/tcp", "nsh/md1/ipv6/udp", "nsh/md1/ipv4/udp-odd",
]  # fmt: skip


@pytest.mark.parametrize("layout", Format)
def test_checksums_that_the_hardware_computes(
    chain_of: Callable[..., Chain], layout: Format, tmp_path: Path
) -> None:
    chain = chain_of(3, offloads=True)
    chain.start("--period-ms", "0", "--format", layout.value)
    wrong: dict[str, str] = {}
    on_wire: dict[str, bytes] = {}
    for name in PARTIAL:
        frame, offload = unfinished(FRAMES[name])
        assert finished_by_hardware(frame, offload) == FRAMES[name], name
        *between, received = chain.exchange_with(frame, offload)
        if [finished_by_hardware(*one) for one in received] != [FRAMES[name]]:
            wrong[name] = f"received {received}"
        for number, seen in enumerate(between, 1):
            [finished] = [finished_by_hardware(*one) for one in seen]
            on_wire[f"{name} after VNF {number}"] = finished
            if reason := wrong_with(finished, FRAMES[name], number):
                wrong[f"{name} after VNF {number}"] = f"{reason}: {seen}"
    verdicts = zip(on_wire, judge(on_wire.values(), tmp_path), strict=True)
    wrong |= {name: str(seen.wrong) for name, seen in verdicts if seen.wrong}
    assert wrong == {}
    assert len(chain.sink.samples(len(PARTIAL))) == len(PARTIAL)


@pytest.mark.parametrize("layout", Format)
def test_truncated_before_the_checksum_is_computed(
    chain_of: Callable[..., Chain], layout: Format
) -> None:
    """The source finds room in the MTU, the sink finds none and has to say so in the packet."""
    chain = chain_of(2, offloads=True)
    chain.start("--period-ms", "0", "--format", layout.value)
    for version in (4, 6):
        for transport, headers, added in ((tcp, 20, 12), (udp, 8, 14), (udp, 8, 15)):
            room = 1500 - (20 if version == 4 else 40) - headers
            size = room - (added if layout is Format.RFC else 8) - 2
            whole = bytes(ethernet() / network(version) / transport(data=(DATA * 6)[:size]))
            frame, offload = unfinished(whole)
            between, received = chain.exchange_with(frame, offload)
            assert [finished_by_hardware(*one) for one in received] == [whole]
            assert wrong_with(finished_by_hardware(*between[0]), whole, 1) is None
    samples = chain.sink.samples(6)
    assert [(len(one.hops), one.flags) for one in samples] == [(1, {"truncated"})] * 6


def test_metadata_of_nsh_before_an_unfinished_checksum(chain_of: Callable[..., Chain]) -> None:
    """Measured or left alone, and counted; in any case what comes out is what went in."""
    chain = chain_of(2, offloads=True)
    chain.start("--period-ms", "0", "--format", "rfc")
    measured = 0
    for name in ("nsh/md2/ipv4/tcp", "nsh/md2-others/ipv4/udp-odd"):
        frame, offload = unfinished(FRAMES[name])
        between, received = chain.exchange_with(frame, offload)
        assert [finished_by_hardware(*one) for one in received] == [FRAMES[name]]
        [(carried, left)] = between
        if (carried, left) != (frame, offload):
            measured += 1
            assert wrong_with(finished_by_hardware(carried, left), FRAMES[name], 1) is None
    counters = chain.source.counters()
    assert (counters["sampled"], counters["unsupported"]) == (measured, 2 - measured)


SUPER = [
    (version, bytes_, options)
    for version in (4, 6)
    for bytes_ in (3000, 20_000, 60_000)
    for options in ([], [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))])
]
"""IP version, bytes of data, options of TCP."""


@pytest.mark.parametrize("layout", Format)
def test_super_packets_of_tcp(chain_of: Callable[..., Chain], layout: Format) -> None:
    """One header for all segments, which stay small enough for the MTU; restored with gso_size."""
    chain = chain_of(3, offloads=True)
    chain.start("--period-ms", "0", "--format", layout.value)
    for version, bytes_, options in SUPER:
        size = 1500 - (20 if version == 4 else 40) - 20 - (12 if options else 0)
        data = (DATA * (bytes_ // len(DATA) + 1))[:bytes_]
        transport = tcp(flags="A", data=data, options=options)
        check_super_packet(chain, *super_packet(version, transport, GSO_TCP[version], size))
    samples = chain.sink.samples(len(SUPER))
    assert [[hop.vnf_id for hop in sample.hops] for sample in samples] == [[1, 2, 3]] * len(SUPER)
    assert all("segment" in sample.flags for sample in samples)


def check_super_packet(chain: Chain, frame: bytes, offload: Offload) -> None:
    *between, received = chain.exchange_with(frame, offload)
    for number, seen in enumerate(between, 1):
        [(carried, left)] = seen
        found = packet.read(carried)
        assert found is not None and len(found.header.hops) == number
        grown = len(carried) - len(frame)
        assert left.gso_type == offload.gso_type
        # A segment had as many bytes as the MTU allows.
        assert left.gso_size == offload.gso_size - grown
        assert without_checksum(packet.strip(carried)) == without_checksum(frame)
    [(restored, left)] = received
    assert (left.gso_type, left.gso_size) == (offload.gso_type, offload.gso_size)
    assert without_checksum(restored) == without_checksum(frame)
    if left.flags & NEEDS_CSUM:
        assert finished_by_hardware(restored, left) == finished_by_hardware(frame, offload)


@pytest.mark.parametrize("layout", Format)
def test_super_packets_that_the_vnf_itself_cuts(
    chain_of: Callable[..., Chain], layout: Format, tmp_path: Path
) -> None:
    """Egress interfaces without TSO: each segment has the header, and loses it.

    The chain's MTU leaves room for what the paper asks for: it "needs to be planned in advance".
    """
    chain = chain_of(3, mtu=1540)
    for _, egress in chain.ports:
        off = ["ethtool", "-K", egress.interface, "tso", "off", "gso", "off", "tx", "off"]
        chain.vnfs.run(off, timeout_s=10)
    chain.start("--period-ms", "0", "--format", layout.value)
    sender, data = chain.with_offloads(), (DATA * 200)[:30_000]
    on_wire: list[bytes] = []
    for version in (4, 6):
        size = 1500 - (20 if version == 4 else 40) - 20
        transport = tcp(flags="PA", data=data)
        sender.send_with(*super_packet(version, transport, GSO_TCP[version], size))
        seen = chain.exchange()
        assert all(packet.read(one) is None for one in seen.received)
        assert payload_of(seen.received) == data
        for number, between in enumerate(seen.between, 1):
            for one in between:
                found = packet.read(one)
                assert found is not None and len(found.header.hops) == number
            assert payload_of([packet.strip(one) for one in between]) == data
        on_wire += [*seen.received, *seen.between[0], *seen.between[1]]
    assert max(map(len, on_wire)) <= 1554
    assert {one.wrong for one in judge(on_wire, tmp_path)} == {()}


def payload_of(segments: list[bytes]) -> bytes:
    """Of TCP segments, by scapy and in the order of their sequence numbers."""
    seen = [Ether(one) for one in segments]
    # What follows the IP packet is no payload.
    parts = []
    for one in seen:
        end = one[IP].len - one[IP].ihl * 4 if IP in one else one[IPv6].plen
        parts.append((one[TCP].seq, bytes(one[TCP])[one[TCP].dataofs * 4 : end]))
    return b"".join(part for _, part in sorted(parts))


def test_super_packets_of_udp_are_left_alone(chain_of: Callable[..., Chain]) -> None:
    """Each segment would need a trailer of its own."""
    chain = chain_of(2, offloads=True)
    chain.start("--period-ms", "0", "--format", "rfc")
    for version in (4, 6):
        frame, offload = super_packet(version, udp(data=DATA * 20), GSO_UDP_L4, 1000)
        between, received = chain.exchange_with(frame, offload)
        assert between == received == [(frame, offload)]
    assert chain.source.counters()["unsupported"] == 2
