"""What sfc-pktgen counts, of packets that scapy makes: loss, order, duplicates, latency."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from support.network.wires import eventually
from support.tiers import examples
from support.vnfs.pktgen import PORT, RUN, SINK, SOURCE, Ends, attached, ends, packet

from sfcperf.hosts.process import inside

pytestmark = pytest.mark.root
WINDOW = 1 << 21
PROTOCOLS = ["udp", "tcp-syn"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    with ends(tmp_path_factory.mktemp("pktgen")) as made:
        yield made


def model(stamps: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Duplicates, and reordered packets by RFC 4737, section 3.3, of (flow, sequence)."""
    seen: set[int] = set()
    expected: dict[int, int] = {}
    duplicated = reordered = 0
    for flow, sequence in stamps:
        if sequence in seen:
            duplicated += 1
            continue
        seen.add(sequence)
        if sequence < expected.get(flow, 0):
            reordered += 1
        else:
            expected[flow] = sequence + 1
    return duplicated, reordered


@pytest.mark.parametrize("protocol", PROTOCOLS)
@examples(10, HealthCheck.function_scoped_fixture)
@given(sequences=st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_order_and_duplicates(
    pair: Ends, tmp_path: Path, protocol: str, sequences: list[int]
) -> None:
    stamps = [(sequence % 3, sequence) for sequence in sequences]
    frames = [packet(pair, protocol, sequence, flow) for flow, sequence in stamps]
    counted = pair.received(tmp_path, frames, "--protocol", protocol)
    duplicated, reordered = model(stamps)
    assert counted["packets"] == len(frames)
    assert counted["bytes"] == sum(map(len, frames))
    assert (counted["duplicated"], counted["reordered"]) == (duplicated, reordered)
    assert counted["unjudged"] == 0
    unique = len(set(sequences))
    assert sum(packets for _, _, packets in counted["latency_ns"]) == unique
    assert sum(counted["arrivals"]) == unique


def test_numbers_begin_again_after_the_last_one(pair: Ends, tmp_path: Path) -> None:
    """A flow of more than 2^32 packets. What comes too late is not judged."""
    last = 2**32 - 1
    steps = [2**30, 2**31, 3 * 2**30, last - WINDOW]  # none of which is a step backwards
    numbers = [*steps, last, 0, 1, last, WINDOW, 0]
    counted = pair.received(tmp_path, [packet(pair, "udp", number) for number in numbers])
    found = [counted[name] for name in ("packets", "duplicated", "reordered", "unjudged")]
    assert found == [10, 1, 1, 1]  # the late one is out of order as well


@pytest.mark.parametrize(
    ("mode", "protocol", "ages_us"),
    [
        ("native", "udp", [0, 1_000, 50_000, 2_000_000, 60_000_000]),
        ("generic", "tcp-syn", [0, 1_000, 4_000_000]),
    ],
)
def test_latency_is_that_of_the_stamp(
    pair: Ends, tmp_path: Path, mode: str, protocol: str, ages_us: list[int]
) -> None:
    """No packet is younger than its stamp; buckets are as narrow as they say."""
    frames = [
        packet(pair, protocol, number, age_ns=age_us * 1000)
        for number, age_us in enumerate(ages_us)
    ]
    counted = pair.received(tmp_path, frames, "--mode", mode, "--protocol", protocol)
    assert counted["mode"] == mode
    buckets = [(row[0], row[1]) for row in counted["latency_ns"] for _ in range(row[2])]
    assert len(buckets) == len(ages_us)
    for (least, most), age_us in zip(buckets, ages_us, strict=True):
        assert most >= age_us * 1000
        # The packets before it were made and sent in the meantime.
        assert least <= (age_us + 500_000) * 1000
        assert most - least + 1 <= max(1, least / 128)


def test_packets_of_others_pass(pair: Ends, tmp_path: Path) -> None:
    with inside(pair.sink.host.namespace):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((SINK, PORT))
    server.settimeout(10)
    own = [packet(pair, "udp", number) for number in range(3)]
    warmup = [packet(pair, "udp", number, run=RUN | 1) for number in range(2)]
    another = packet(pair, "udp", 0, run=RUN + 2)
    ether = Ether(src=pair.source.mac, dst=pair.sink.mac)
    plain = bytes(ether / IP(src=SOURCE, dst=SINK) / UDP(sport=1024, dport=PORT) / b"hello")
    counted = pair.received(tmp_path, [*own, *warmup, another, plain])
    assert (counted["packets"], counted["warmup"]) == (3, 2)
    assert server.recv(2000) == another[42:]
    assert server.recv(2000) == b"hello"
    server.close()


def test_nothing_stays_attached(pair: Ends, tmp_path: Path) -> None:
    for number in (9, 15):
        for role in ("receive", "accept"):
            with pair.spawned(pair.sink, tmp_path, role) as (process, _):
                assert attached(pair.sink)
                process.send_signal(number)
                process.wait(10)
            assert eventually(lambda: not attached(pair.sink))


def test_another_xdp_program_is_told(pair: Ends, tmp_path: Path) -> None:
    with pair.spawned(pair.sink, tmp_path, "accept"):
        done = pair.sink.host.run(pair.argv(pair.sink, "receive"), timeout_s=30, check=False)
        assert done.returncode == 1
        assert b"cannot attach to eth0: another XDP program is attached: accept (id " in done.stderr
        # One that is there takes frames of XDP as well.
        (tmp_path / "second").mkdir()
        with pair.spawned(pair.sink, tmp_path / "second", "accept") as (_, stdout):
            assert "other" in stdout.read_text()
