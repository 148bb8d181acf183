"""What sfc-pktgen sends, judged by scapy, tshark and scipy."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scipy.stats import chisquare
from support.network.frames_judge import judge
from support.network.wires import eventually, ip, space
from support.vnfs.pktgen import MAGIC, PORT, RUN, SINK, SOURCE, Ends, attached, ends

pytestmark = pytest.mark.root
FCS_BYTES = 4
LEAST_P = 1e-6
"""Draws depend on the number of the run alone, which is always the same."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    """The sink takes frames of XDP."""
    folder = tmp_path_factory.mktemp("pktgen")
    with ends(folder) as made, made.spawned(made.sink, folder, "accept"):
        yield made


def source_ports(frames: list[bytes]) -> list[int]:
    return [struct.unpack(">H", frame[34:36])[0] for frame in frames]


@pytest.mark.parametrize(
    ("engine", "protocol", "frames"),
    [
        ("xdp", "udp", "64"),
        ("packet", "tcp-syn", "65"),
        ("packet", "udp", "1518"),
        ("xdp", "tcp-syn", "64:7,570:4,1518:1"),
    ],
)
def test_packets_are_whole(
    pair: Ends, tmp_path: Path, engine: str, protocol: str, frames: str
) -> None:
    # Source ports that tshark does not take for those of another protocol.
    options = ["--engine", engine, "--protocol", protocol, "--frames", frames, "--flows", "100"]
    options += ["--rate", "20000", "--duration-ms", "50", "--port", str(PORT)]
    sent, seen = pair.captured(tmp_path, *options)
    assert sent["packets"] == len(seen) > 0
    assert sent["bytes"] == sum(map(len, seen))
    allowed = {int(part.partition(":")[0]) - FCS_BYTES for part in frames.split(",")}
    assert {len(frame) for frame in seen} <= allowed
    assert [verdict.wrong for verdict in judge(seen, tmp_path)] == [()] * len(seen)
    for number, frame in enumerate(seen):
        packet = Ether(frame)
        assert (packet.dst, packet.src) == (pair.sink.mac, pair.source.mac)
        ipv4 = packet[IP]
        assert (ipv4.src, ipv4.dst, ipv4.ttl, str(ipv4.flags)) == (SOURCE, SINK, 64, "DF")
        assert ipv4.len == len(frame) - 14
        transport = packet[UDP] if protocol == "udp" else packet[TCP]
        assert (transport.sport, transport.dport) == (1024 + number % 100, PORT)
        payload = bytes(transport.payload)
        if protocol == "udp":
            magic, run, sequence, flow = struct.unpack(">HIIH", payload[:12])
            assert (magic, run, sequence, flow) == (MAGIC, RUN, number, number % 100)
            assert payload[18:] == bytes(len(payload) - 18)
        else:
            assert str(transport.flags) == "S"
            assert ipv4.id << 16 | transport.window == RUN
            assert (transport.seq, payload[:2]) == (number, struct.pack(">H", number % 100))
            assert payload[6:] == bytes(len(payload) - 6)
        # scapy's own checksums.
        whole = packet.copy()
        del whole[IP].chksum
        del whole[UDP if protocol == "udp" else TCP].chksum
        assert bytes(whole) == frame


@pytest.mark.parametrize(("engine", "exponent"), [("xdp", 0.5), ("packet", 1.0), ("xdp", 2.0)])
def test_flows_follow_zipfs_law_and_sizes_their_weights(
    pair: Ends, tmp_path: Path, engine: str, exponent: float
) -> None:
    flows, sizes = 50, {64: 7, 570: 4, 1518: 1}
    options = ["--engine", engine, "--flows", str(flows), "--zipf", str(exponent)]
    options += ["--frames", ",".join(f"{size}:{weight}" for size, weight in sizes.items())]
    _, seen = pair.captured(tmp_path, *options, "--rate", "50000", "--duration-ms", "200")
    counts = Counter(source_ports(seen))
    weights = np.arange(1, flows + 1) ** -exponent
    expected = len(seen) * weights / weights.sum()
    assert set(counts) <= set(range(1024, 1024 + flows))
    observed = [counts[1024 + flow] for flow in range(flows)]
    # A chi-square test wants at least five in each cell: the rare ones are one cell.
    rare = int(np.searchsorted(-expected, -5.0))
    cells = [*observed[:rare], *([sum(observed[rare:])] if rare < flows else [])]
    wanted = [*expected[:rare], *([expected[rare:].sum()] if rare < flows else [])]
    assert chisquare(cells, wanted).pvalue > LEAST_P
    counts = Counter(len(frame) + FCS_BYTES for frame in seen)
    assert set(counts) == set(sizes)
    shares = [len(seen) * weight / 12 for weight in sizes.values()]
    assert chisquare([counts[size] for size in sizes], shares).pvalue > LEAST_P


def test_the_rate_is_reached_or_what_is_missing_is_told(pair: Ends) -> None:
    for rate in (500, 20_000, 200_000):
        sent = pair.send("--rate", str(rate), "--duration-ms", "200")
        assert sent["complete"] is True
        assert sent["packets"] + sent["skipped"] == pytest.approx(rate / 5, abs=1)
        assert sent["elapsed_ns"] < 2e8


def test_it_asks_for_the_next_hop(pair: Ends, tmp_path: Path) -> None:
    ip("-n", space(pair.source.host), "neighbour", "flush", "all")
    _, seen = pair.captured(tmp_path, "--rate", "1000", "--duration-ms", "20")
    assert {frame[:6].hex(":") for frame in seen} == {pair.sink.mac}


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("198.18.0.77", "no way to 198.18.0.77: No route to host"),
        ("203.0.113.1", "no way to 203.0.113.1: Network is unreachable"),
        (SOURCE, "it is an address of this host"),
    ],
)
def test_who_cannot_be_reached_is_told(pair: Ends, to: str, words: str) -> None:
    argv = pair.argv(pair.source, "send", "--to", to)
    done = pair.source.host.run(argv, timeout_s=30, check=False)
    assert done.returncode == 1
    assert words in done.stderr.decode()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--frames", "63"], "--frames: '63' is not BYTES or BYTES:WEIGHT with 64 to 1518 bytes"),
        (["--frames", "64:60,65:5"], "the weights are more than 64 together"),
        (["--flows", "64513"], "--flows: a whole number from 1 to 64512"),
        (["--zipf", "nan"], "--zipf: a number from 0 to 10"),
        (["--run", "3"], "--run: an even number"),
        (["--to", "sink"], "--to: 'sink' is not an IPv4 address"),
        ([], "--to is missing"),
    ],
)
def test_wrong_options_are_told(pair: Ends, options: list[str], words: str) -> None:
    argv = pair.argv(pair.source, "send", *options)
    done = pair.source.host.run(argv, timeout_s=30, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr.decode()


def test_a_killed_sender_sends_no_more(pair: Ends, tmp_path: Path) -> None:
    argv = pair.argv(pair.source, "send", "--to", SINK, "--rate", "50000", "--duration-ms", "60000")
    process = pair.source.host.spawn(argv)
    wire = pair.sink.wire()
    assert eventually(lambda: len(wire.drain_some()) > 0)
    process.send_signal(9)
    assert process.wait(10) == -9
    wire.drain()
    # The kernel may ask for an address once more.
    assert [frame for frame in wire.drain() if frame[12:14] == b"\x08\x00"] == []
    wire.close()
    assert not attached(pair.source)


def test_an_interrupted_sender_says_what_it_sent(pair: Ends, tmp_path: Path) -> None:
    stdout = tmp_path / "sent.json"
    argv = pair.argv(pair.source, "send", "--to", SINK, "--rate", "50000", "--duration-ms", "60000")
    process = pair.source.host.spawn(argv, stdout=stdout)
    wire = pair.sink.wire()
    assert eventually(lambda: len(wire.drain_some()) > 0)
    wire.close()
    assert process.stop() == 0
    assert '"complete": false' in stdout.read_text()


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_source_addresses_take_turns_with_all_flows(
    pair: Ends, tmp_path: Path, engine: str
) -> None:
    options = ["--engine", engine, "--flows", "10", "--sources", "3", "--rate", "20000"]
    options += ["--port", str(PORT)]
    # On a busy machine it may not get to send any within a short time.
    for duration_ms in ("10", "100", "1000"):
        raw = tmp_path / duration_ms
        raw.mkdir()
        sent, seen = pair.captured(raw, *options, "--duration-ms", duration_ms)
        if len(seen) >= 60:
            break
    assert sent["packets"] == len(seen) >= 60
    assert [verdict.wrong for verdict in judge(seen, tmp_path)] == [()] * len(seen)
    first = ip_address(SOURCE)
    assert [
        (ip_address(frame[26:30]), port)
        for frame, port in zip(seen, source_ports(seen), strict=True)
    ] == [(first + 256 * (number // 10 % 3), 1024 + number % 10) for number in range(len(seen))]
