"""Damaged frames: they come through as they were, and the kernel has nothing to complain about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.needs import compiled
from support.network.wires import Lab
from support.pptmon.bench import Chain, build
from support.pptmon.kernel_log import without_complaints
from support.pptmon.process import BINARY
from support.pptmon.zoo import FRAMES
from support.pptmon_model import packet
from support.pptmon_model.errors import FormatError
from support.pptmon_model.format import Format, Header, Hop
from support.tiers import examples

pytestmark = pytest.mark.root

HEADER = Header((Hop(77, 5), Hop(78, 6)))
SETTINGS = examples(400, HealthCheck.function_scoped_fixture, HealthCheck.too_slow)


def carrying() -> dict[str, bytes]:
    """Frames with a header of ours."""
    made = {}
    for layout in Format:
        for carrier in packet.Carrier:
            for name, frame in FRAMES.items():
                try:
                    made[f"{name} {layout} {carrier}"] = packet.add(frame, HEADER, layout, carrier)
                except FormatError:
                    continue
    return made


CARRYING = carrying()


@st.composite
def damaged(draw: st.DrawFn, frames: dict[str, bytes]) -> bytes:
    """A frame with some bytes changed beyond the addresses, cut, or with something behind."""
    data = bytearray(frames[draw(st.sampled_from(sorted(frames)))])
    # Headers are where it hurts.
    places = st.integers(12, min(len(data), 140) - 1)
    for at in draw(st.lists(places, max_size=4)):
        data[at] = draw(st.integers(0, 255))
    end = draw(st.integers(14, len(data)))
    tail = draw(st.sampled_from([b"", b"\0", b"\xff" * 7, b"\0\0\x7f\x0c\x50\x54"]))
    return bytes(data[: end if draw(st.booleans()) else len(data)]) + tail


@st.composite
def lengths_that_lie(draw: st.DrawFn) -> bytes:
    """A length, a header's size or a protocol that contradicts the rest."""
    data = bytearray(CARRYING[draw(st.sampled_from(sorted(CARRYING)))])
    at = draw(st.integers(14, min(len(data), 120) - 2))
    value = draw(st.sampled_from([0, 1, 2, 3, 4, 7, 8, 11, 12, 40, 252, 254, 255]))
    data[at] = value
    if draw(st.booleans()):
        data[at + 1] = value
    return bytes(data)


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Chain]]:
    """One source-sink, one with a source and a sink, one without pptmon."""
    compiled(BINARY)
    folder = tmp_path_factory.mktemp("pptmon")
    with Lab(folder) as lab, without_complaints():
        made = {
            "alone": build(lab, folder / "one", 1),
            "source and sink": build(lab, folder / "two", 2, prefix="x"),
            "no pptmon": build(lab, folder / "none", 2, prefix="z"),
        }
        made["alone"].start("--period-ms", "0", "--format", "rfc")
        made["source and sink"].start("--period-ms", "0", "--format", "paper")
        yield made


def exchanged(chains: dict[str, Chain], frames: list[bytes]) -> Iterator[tuple[str, bytes, bytes]]:
    """Each frame that comes out of a chain with pptmon, and that out of bridges alone."""
    expected = chains["no pptmon"].exchange(*frames).received
    for name in ("alone", "source and sink"):
        seen = chains[name].exchange(*frames).received
        assert len(seen) == len(expected), name
        yield from ((name, *pair) for pair in zip(seen, expected, strict=True))


@given(frames=st.lists(damaged(FRAMES), max_size=20))
@SETTINGS
def test_damaged_frames(chains: dict[str, Chain], frames: list[bytes]) -> None:
    """What bridges alone make of them is what is to come out.

    Bytes that happen to be a header of ours, as a whole, may be taken out by a sink.
    """
    for name, one, wanted in exchanged(chains, frames):
        assert one == wanted or one in stripped(wanted), (name, wanted.hex(), one.hex())


@given(frames=st.lists(damaged(CARRYING) | lengths_that_lie(), max_size=20))
@SETTINGS
def test_damaged_frames_with_headers(chains: dict[str, Chain], frames: list[bytes]) -> None:
    """Headers that somebody else put in: none is lost, none becomes longer, all end the same."""
    for name, one, wanted in exchanged(chains, frames):
        assert one[:12] == wanted[:12], (name, wanted.hex(), one.hex())
        assert len(one) <= len(wanted), (name, wanted.hex(), one.hex())


def stripped(frame: bytes) -> list[bytes]:
    """The frame without a header of ours, if it has one."""
    try:
        return [packet.strip(frame)]
    except FormatError:
        return []


def test_every_length(chains: dict[str, Chain]) -> None:
    for name in ("ipv4/tcp-timestamps", "ipv6/udp-odd", "nsh/md2/ipv4/tcp", "qinq/ipv6/tcp",
                 "gpe4-set/md1/ipv4/tcp", "ipv4-options/udp-odd"):  # fmt: skip
        frame = FRAMES[name]
        cut = [frame[:end] for end in range(14, min(len(frame), 160))]
        assert all(one == wanted for _, one, wanted in exchanged(chains, cut)), name
    for chain in ("alone", "source and sink"):
        for pptmon in chains[chain].pptmons:
            assert pptmon.counters()["failed"] == 0
