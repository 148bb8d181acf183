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


WAYS = [(layout, carrier) for layout in Format for carrier in packet.Carrier]
CARRYING = {way: carrying(*way) for way in WAYS}


def test_tshark_finds_nothing_wrong_with_frames_and_headers(tmp_path: Path) -> None:
    in_nsh = [name for name in FRAMES if "md2" in name]
    for (_, carrier), frames in CARRYING.items():
        expected = FRAMES if carrier is packet.Carrier.L4 else in_nsh
        assert len(frames) == len(expected) > 50
    judged = [(None, name, frame) for name, frame in FRAMES.items()]
    judged += [(way, name, frame) for way in WAYS for name, frame in CARRYING[way].items()]
    seen_frames = judge([frame for *_, frame in judged], tmp_path)
    for (way, name, _), seen in zip(judged, seen_frames, strict=True):
        assert seen.wrong == (), (way, name)
        if way and "tcp" in name and way[1] is packet.Carrier.L4:
            assert EXIDS[way[0]] in seen.experiments, name


@pytest.mark.parametrize("way", WAYS)
def test_taken_out_again(way: tuple[Format, packet.Carrier]) -> None:
    for name, frame in CARRYING[way].items():
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


WHOLE = [*FRAMES.values(), *(frame for made in CARRYING.values() for frame in made.values())]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A frame of the zoo, with or without a header, with some bytes changed or cut off."""
    frame = draw(st.sampled_from(WHOLE))
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
