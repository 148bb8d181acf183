"""Frames with NSH, sound and malformed, and what must become of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scapy.contrib.nsh import NSH, NSHTLV
from scapy.packet import Packet, Raw
from scapy.utils import checksum

from support.vnfs.sff_bench import PORT_LINK, PORT_NSH, on_ethernet, on_gpe
from support.vnfs.sff_model import Dropped, Sent, expected, without_choice

Paths = Mapping[tuple[int, int], str]
"""(SPI, SI) -> action."""


def originals(port: int, paths: Paths, inner: Packet) -> list[bytes]:
    """Sound frames: each action, both MD types, with and without a packet in them."""
    carry = on_ethernet if port == PORT_NSH else on_gpe
    metadata = [
        {"mdtype": 1, "context_header": bytes(range(16))},
        {"mdtype": 2, "vlch": []},
        {"mdtype": 2, "vlch": [NSHTLV(class_=1, type=2, metadata=[3, 4])]},
    ]
    headers = [
        NSH(spi=spi, si=si, ttl=ttl, nextproto=3, **form)
        for spi, si in paths
        for form in metadata
        for ttl in (2, 63)
    ]
    frames = [carry(header / packet) for header in headers for packet in (inner, Raw(b""))]
    if port == PORT_LINK:
        frames.append(on_gpe(inner, next_protocol=3))
    return [bytes(frame) for frame in frames]


def damaged(frame: bytes, chance: random.Random) -> bytes:
    """Some fields changed, or its end cut off, or both; addresses of Ethernet stay."""
    data = bytearray(frame)
    headers = _header_bytes(frame)
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


def cut_and_lengthened(originals: Sequence[bytes], md_types: Iterable[int]) -> list[bytes]:
    """Frames cut at each byte, and each value of the length field of the first one with each MD
    type."""
    frames = [frame[:end] for frame in originals for end in range(14, len(frame) + 1)]
    base = bytearray(originals[0])
    at = _header_bytes(originals[0])
    for md_type in md_types:
        for words in range(64):
            base[at + 1] = base[at + 1] & 0xC0 | words
            base[at + 2] = md_type
            frames.append(bytes(base))
    return frames


def foreseen(port: int, frames: Sequence[bytes], paths: Paths) -> tuple[list[Sent], Counter[str]]:
    """What must become of them: packets that are sent, and those dropped, by reason."""
    sent, dropped = [], Counter[str]()
    for frame in frames:
        try:
            sent.append(expected(port, frame, paths))
        except Dropped as drop:
            dropped[drop.reason] += 1
    return sent, dropped


def judged(
    bench: Any, port: int, frames: Sequence[bytes], paths: Paths
) -> tuple[list[Sent], Counter[str]]:
    """Compare what the SFF of a bench does with what must become of frames, which it gives."""
    sent, dropped = foreseen(port, frames, paths)
    before = Counter(bench.drops())
    seen = bench.exchange(port, frames)
    for leaves, answers in seen.items():
        wanted = [each for each in sent if each.port == leaves]
        assert [without_choice(leaves, answer) for answer in answers] == wanted
    assert sum(map(len, seen.values())) == len(sent)
    assert Counter(bench.drops()) - before == dropped
    return sent, dropped


def _header_bytes(frame: bytes) -> int:
    """In front of the NSH."""
    return 14 if frame[12:14] == b"\x89\x4f" else 50
