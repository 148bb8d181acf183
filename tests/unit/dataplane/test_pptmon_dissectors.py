"""The model of PPTMon's formats against dissectors that others wrote: tshark's and scapy's."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP, in4_chksum
from scapy.layers.inet6 import IPv6, in6_chksum
from scapy.layers.l2 import Ether
from support.network.frames_judge import judge
from support.pptmon.zoo import FRAMES, SERVICE_HEADERS
from support.pptmon_model import packet
from support.pptmon_model.errors import FormatError
from support.pptmon_model.format import EXID_PAPER, EXID_RFC, Format, Header, Hop, Metric
from support.tiers import examples

HEADER = Header((Hop(3, 7), Hop(9, 4096)), Metric.DELAY, truncated=True, sample=5)
EXIDS = {Format.PAPER: EXID_PAPER | Metric.DELAY | 8, Format.RFC: EXID_RFC}


def carrying(layout: Format, carrier: packet.Carrier) -> dict[str, bytes]:
    """All frames that take the header."""
    made = {}
    for name, frame in FRAMES.items():
        try:
            made[name] = packet.add(frame, HEADER, layout, carrier)
        except FormatError as error:
            assert error.reason == "unsupported" and carrier is packet.Carrier.NSH, (name, error)
    return made


WITH_HEADERS = [
    frame for carrier in packet.Carrier for layout in Format
    for frame in carrying(layout, carrier).values()
]  # fmt: skip


def test_tshark_finds_nothing_wrong_with_the_frames_themselves(tmp_path: Path) -> None:
    verdicts = judge(FRAMES.values(), tmp_path)
    found = {name: seen.wrong for name, seen in zip(FRAMES, verdicts, strict=True)}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("carrier", packet.Carrier)
@pytest.mark.parametrize("layout", Format)
def test_tshark_finds_nothing_wrong_with_headers(
    layout: Format, carrier: packet.Carrier, tmp_path: Path
) -> None:
    frames = carrying(layout, carrier)
    in_nsh = [name for name in FRAMES if "md2" in name]
    assert len(frames) == (len(FRAMES) if carrier is packet.Carrier.L4 else len(in_nsh)) > 50
    for name, seen in zip(frames, judge(frames.values(), tmp_path), strict=True):
        assert seen.wrong == (), name
        if "tcp" in name and carrier is packet.Carrier.L4:
            assert EXIDS[layout] in seen.experiments, name


@pytest.mark.parametrize("carrier", packet.Carrier)
@pytest.mark.parametrize("layout", Format)
def test_taken_out_again(layout: Format, carrier: packet.Carrier) -> None:
    for name, frame in carrying(layout, carrier).items():
        found = packet.read(frame)
        assert found is not None
        assert (found.header.hops, found.header.metric) == (HEADER.hops, HEADER.metric), name
        assert packet.strip(frame) == FRAMES[name], name


@pytest.mark.parametrize("name", ["ipv4/tcp", "ipv6/tcp-timestamps", "ipv4/tcp-syn"])
def test_scapy_reads_the_tcp_option(name: str) -> None:
    seen = Ether(packet.add(FRAMES[name], HEADER, Format.RFC))[TCP]
    assert seen.options[0] == (254, bytes.fromhex("5054090000050300000709001000"))
    assert seen.options[1:] == Ether(FRAMES[name])[TCP].options


def sum_over_ip_payload(frame: bytes) -> int:
    """UDP's checksum as a middlebox computes it that takes UDP's length from IP's: 0 is right."""
    seen = Ether(frame)
    if IP in seen:
        payload = bytes(seen[IP])[seen[IP].ihl * 4 : seen[IP].len]
        return int(in4_chksum(17, seen[IP], payload))
    payload = bytes(seen[IPv6])[40 : 40 + seen[IPv6].plen]
    return int(in6_chksum(17, seen[IPv6], payload))


@pytest.mark.parametrize("name", ["ipv4/udp", "ipv4/udp-odd", "ipv6/udp", "ipv4/udp-one-byte"])
def test_ocs_makes_the_checksum_right_over_all_that_ip_carries(name: str) -> None:
    frame = FRAMES[name]
    assert sum_over_ip_payload(frame) == 0
    assert sum_over_ip_payload(packet.add(frame, HEADER, Format.RFC)) == 0
    # The paper's trailer does not: connection tracking of Linux would find such packets invalid.
    assert sum_over_ip_payload(packet.add(frame, HEADER, Format.PAPER)) != 0


def test_udp_ends_where_it_ended() -> None:
    for layout in Format:
        seen = Ether(packet.add(FRAMES["ipv4/udp"], HEADER, layout))[UDP]
        assert (seen.len, seen.chksum) == (
            Ether(FRAMES["ipv4/udp"])[UDP].len,
            Ether(FRAMES["ipv4/udp"])[UDP].chksum,
        )


def test_contexts_of_others_stay(tmp_path: Path) -> None:
    assert set(SERVICE_HEADERS) == {"md1", "md2", "md2-others"}
    frame = FRAMES["nsh/md2-others/ipv4/tcp"]
    carried = packet.add(frame, HEADER, Format.RFC, packet.Carrier.NSH)
    assert carried.endswith(frame[22:])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A frame of the zoo, with or without a header, with some bytes changed or cut off."""
    frame = draw(st.sampled_from([*FRAMES.values(), *WITH_HEADERS]))
    data = bytearray(frame)
    for at in draw(st.lists(st.integers(12, len(data) - 1), max_size=6)):
        data[at] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


@given(frame=damaged())
@examples(1000)
def test_damaged_frames_are_read_or_refused(frame: bytes) -> None:
    reasons = {"truncated", "malformed", "fragment", "checksum"}
    try:
        found = packet.read(frame)
    except FormatError as error:
        assert error.reason in reasons
        return
    if found is not None:
        assert 0 < found.start < found.end <= len(frame)
        with contextlib.suppress(FormatError):  # a length of the packet may not allow it
            assert len(packet.strip(frame)) == len(frame) - (found.end - found.start)
