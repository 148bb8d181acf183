"""Malformed NSH and tunnels: dropped and counted by reason, none forwarded wrongly.

A model of Python and scapy says what has to become of each packet (support/vnfs/sff_model.py).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from scapy.contrib.nsh import NSH, NSHTLV
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import checksum
from support.pptmon.kernel_log import without_complaints
from support.vnfs.sff_bench import (
    CLIENT,
    PORT_LINK,
    PORT_NSH,
    SERVER,
    TO,
    SffBench,
    on_ethernet,
    on_gpe,
)
from support.vnfs.sff_model import Dropped, Sent, expected, without_choice

pytestmark = pytest.mark.root

PATHS = {(0x010203 + place, 7): action for place, action in enumerate(TO)}
PACKETS = 1000
"""Of each cell."""
INNER = (
    Ether(src=CLIENT, dst=SERVER) / IP(src="198.18.0.1", dst="198.18.0.2") / UDP() / Raw(b"x" * 9)
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SffBench]:
    lines = [f"path {spi} {si} {TO[action]}" for (spi, si), action in PATHS.items()]
    with without_complaints(), SffBench(tmp_path_factory.mktemp("sff"), lines) as bench:
        yield bench


def _originals(port: int) -> list[bytes]:
    """Sound frames: each action, both MD types, with and without a packet in them."""
    carry = on_ethernet if port == PORT_NSH else on_gpe
    metadata = [
        {"mdtype": 1, "context_header": bytes(range(16))},
        {"mdtype": 2, "vlch": []},
        {"mdtype": 2, "vlch": [NSHTLV(class_=1, type=2, metadata=[3, 4])]},
    ]
    headers = [
        NSH(spi=spi, si=si, ttl=ttl, nextproto=3, **form)
        for spi, si in PATHS
        for form in metadata
        for ttl in (2, 63)
    ]
    frames = [carry(header / inner) for header in headers for inner in (INNER, Raw(b""))]
    if port == PORT_LINK:
        frames.append(on_gpe(INNER, next_protocol=3))
    return [bytes(frame) for frame in frames]


def _damaged(frame: bytes, chance: random.Random) -> bytes:
    """Some fields changed, or its end cut off, or both; addresses of Ethernet stay."""
    data = bytearray(frame)
    headers = 14 if frame[12:14] == b"\x89\x4f" else 50
    # One field in most cases, and mostly of the NSH: its first word decides upon the most.
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        at = (
            headers + chance.randrange(8)
            if chance.random() < 0.8
            else chance.randrange(12, headers + 16)
        )
        if at < len(data):
            data[at] = chance.choice(
                (0, 1, 0xFF, chance.randrange(256), data[at] ^ 1 << chance.randrange(8))
            )
    if headers == 50 and chance.random() < 0.8:
        # Else nearly nothing passes the check of the outer header.
        data[24:26] = bytes(2)
        data[24:26] = checksum(bytes(data[14:34])).to_bytes(2, "big")
    if chance.random() < 0.3:
        del data[chance.randrange(14, len(data) + 1) :]
    if chance.random() < 0.1:
        data += bytes(chance.randrange(1, 40))
    return bytes(data)


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 50))]
)
def test_each_is_dropped_or_forwarded_as_it_must(bench: SffBench, port: int, seed: int) -> None:
    chance = random.Random(seed)
    originals = _originals(port)
    frames = [_damaged(chance.choice(originals), chance) for _ in range(PACKETS)]
    sent, dropped = _foreseen(port, frames)
    before = Counter(bench.drops())
    seen = bench.exchange(port, frames)
    for leaves, answers in seen.items():
        wanted = [each for each in sent if each.port == leaves]
        assert [without_choice(leaves, answer) for answer in answers] == wanted
    assert Counter(bench.drops()) - before == dropped
    assert sum(dropped.values()) + len(sent) == PACKETS
    # The damage is neither too light nor too heavy.
    assert len(dropped) >= 8
    assert len(sent) > PACKETS / 20


def _foreseen(port: int, frames: Sequence[bytes]) -> tuple[list[Sent], Counter[str]]:
    sent, dropped = [], Counter[str]()
    for frame in frames:
        try:
            sent.append(expected(port, frame, PATHS))
        except Dropped as drop:
            dropped[drop.reason] += 1
    return sent, dropped


@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
def test_every_length(bench: SffBench, port: int) -> None:
    """Frames cut at each byte, and each value of the length field with each MD type."""
    frames = []
    for frame in _originals(port)[:12:2]:
        frames += [frame[:end] for end in range(14, len(frame) + 1)]
    base = bytearray(_originals(port)[0])
    at = 14 if port == PORT_NSH else 50
    for md_type in range(16):
        for words in range(64):
            base[at + 1] = base[at + 1] & 0xC0 | words
            base[at + 2] = md_type
            frames.append(bytes(base))
    sent, dropped = _foreseen(port, frames)
    before = Counter(bench.drops())
    seen = bench.exchange(port, frames)
    answers = [without_choice(leaves, a) for leaves, all_ in seen.items() for a in all_]
    assert sorted(answers, key=repr) == sorted(sent, key=repr)
    assert Counter(bench.drops()) - before == dropped
    assert {"truncated", "md_type", "length"} <= set(dropped)
