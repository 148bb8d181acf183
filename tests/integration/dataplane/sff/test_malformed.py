"""Malformed NSH and tunnels: dropped and counted by reason, none forwarded wrongly.

A model of Python and scapy says what has to become of each packet (support/vnfs/sff_model.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from support.pptmon.kernel_log import without_complaints
from support.vnfs.malformed import cut_and_lengthened, damaged, judged, originals
from support.vnfs.sff_bench import (
    CLIENT,
    PORT_LINK,
    PORT_NSH,
    SERVER,
    TO,
    SffBench,
)

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


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 10))]
)
def test_each_is_dropped_or_forwarded_as_it_must(bench: SffBench, port: int, seed: int) -> None:
    chance = random.Random(seed)
    sound = originals(port, PATHS, INNER)
    frames = [damaged(chance.choice(sound), chance) for _ in range(PACKETS)]
    sent, dropped = judged(bench, port, frames, PATHS)
    assert sum(dropped.values()) + len(sent) == PACKETS
    # The damage is neither too light nor too heavy.
    assert len(dropped) >= 8
    assert len(sent) > PACKETS / 20


@pytest.mark.parametrize("port", [PORT_NSH, PORT_LINK], ids=["nsh-eth", "nsh-vxlan-gpe"])
def test_every_length(bench: SffBench, port: int) -> None:
    """Frames cut at each byte, and each value of the length field with each MD type."""
    frames = cut_and_lengthened(originals(port, PATHS, INNER)[:12:2], range(16))
    _, dropped = judged(bench, port, frames, PATHS)
    assert {"truncated", "md_type", "length"} <= set(dropped)
