"""What the forwarder does with packets: both engines, both encapsulations, judged by others."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scapy.contrib.nsh import NSH, NSHTLV
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from support.needs import compiled
from support.network.frames_judge import judge
from support.network.wires import Lab
from support.vnfs.attached import started_behind_sff
from support.vnfs.forwarder_bench import SENTINEL_SPI, SF_ADDRESS, SFF_ADDRESS, Bench

from sfcperf.vnfs.forwarder.function import BINARY, Forwarder

pytestmark = pytest.mark.root
ENGINES = ["xdp", "userspace"]

INNER = (
    Ether(src="02:00:00:00:aa:01", dst="02:00:00:00:aa:02")
    / IP()
    / UDP(sport=1000, dport=9)
    / Raw(b"payload")
)
CONTEXT = bytes(range(16))
HEADERS = {
    "md1": NSH(spi=42, si=255, ttl=17, mdtype=1, context_header=CONTEXT),
    "md2-empty": NSH(spi=42, si=255, ttl=17, mdtype=2, vlch=[]),
    "md2": NSH(spi=42, si=255, ttl=17, mdtype=2, vlch=[NSHTLV(class_=1, type=2, metadata=[3, 4])]),
}
ENCAPSULATIONS = ["nsh-eth", "nsh-vxlan-gpe"]


def _started(lab: Lab, engine: str) -> Bench:
    """With one worker, so that the sentinel comes last."""
    compiled(BINARY)
    vcpus = (min(os.sched_getaffinity(0)),)
    return started_behind_sff(lab, Forwarder, "fwd-1", {"engine": engine}, vcpus=vcpus)


@pytest.fixture(scope="module", params=ENGINES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """One of each engine for many tests."""
    with Lab(tmp_path_factory.mktemp("forwarder")) as lab:
        yield _started(lab, request.param)


@pytest.fixture(params=ENGINES)
def fresh(request: pytest.FixtureRequest, lab: Lab) -> Bench:
    """For tests that use up its memory of paths."""
    return _started(lab, request.param)


@contextmanager
def counting(bench: Bench, received: int) -> Iterator[dict[str, int]]:
    """What it counts until it has received so many frames more, sentinels among them."""
    before = bench.function.counters()
    found: dict[str, int] = {}
    yield found
    after = bench.counted(lambda now: now["received"] - before["received"] >= received)
    found.update({name: count - before.get(name, 0) for name, count in after.items()})


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_returns_the_packet_with_si_decremented(
    bench: Bench, encapsulation: str, tmp_path: Path
) -> None:
    sent = [bench.from_sff(header / INNER, encapsulation) for header in HEADERS.values()]
    answers = bench.exchange(*sent)
    for header, answer in zip(HEADERS.values(), answers, strict=True):
        # Scapy takes UDP port 4790 for VXLAN-GPE by itself.
        seen = Ether(answer)
        assert (seen.src, seen.dst) == (bench.sf.mac, bench.sff.mac)
        assert (seen[NSH].spi, seen[NSH].si, seen[NSH].ttl) == (42, 254, 17)
        restored = seen[NSH].copy()
        restored.si = 255
        assert bytes(restored) == bytes(header / INNER)
        if encapsulation == "nsh-vxlan-gpe":
            assert (seen[IP].src, seen[IP].dst) == (SF_ADDRESS, SFF_ADDRESS)
            assert (seen[UDP].sport, seen[UDP].dport, seen[UDP].chksum) == (50000, 4790, 0)
            assert (seen[VXLAN].vni, seen[VXLAN].NextProtocol) == (7, 4)
    assert {verdict.wrong for verdict in judge(answers, tmp_path)} == {()}


def _raw(packet: Packet, **bytes_at: int) -> Raw:
    """A packet with some bytes replaced: b2=0x0f is byte 2."""
    data = bytearray(bytes(packet))
    for name, value in bytes_at.items():
        data[int(name[1:])] = value
    return Raw(bytes(data))


GOOD = HEADERS["md1"] / INNER
WRONG = {
    "si_zero": _raw(GOOD, b7=0),
    "si_exhausted": _raw(GOOD, b7=1),
    "version": _raw(GOOD, b0=0x40 | bytes(GOOD)[0]),
    "oam": _raw(GOOD, b0=0x20 | bytes(GOOD)[0]),
    "md_type": _raw(GOOD, b2=3),
    "length": _raw(GOOD, b1=bytes(GOOD)[1] + 1),
    "truncated": Raw(bytes(GOOD)[:20]),
}


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_drops_and_counts(bench: Bench, encapsulation: str) -> None:
    for reason, packet in WRONG.items():
        wrong = bench.from_sff(packet, encapsulation)
        with counting(bench, 3) as seen:
            assert bench.exchange(wrong, wrong) == []
        assert seen[f"dropped_{reason}"] == seen["dropped"] == 2, reason
        assert (seen["received"], seen["forwarded"]) == (3, 1)  # the sentinel


def test_drops_vxlan_gpe_without_nsh(bench: Bench) -> None:
    for flags, next_protocol in ((0x08, 4), (0x04, 4), (0x1C, 4), (0x0C, 1)):
        frame = bytearray(bytes(bench.from_sff(GOOD, "nsh-vxlan-gpe")))
        frame[42], frame[45] = flags, next_protocol
        with counting(bench, 2) as seen:
            assert bench.exchange(bytes(frame)) == []
        assert seen["dropped_encapsulation"] == 1, flags


def test_padding_is_no_part_of_a_tunnelled_packet(bench: Bench) -> None:
    cut = bench.from_sff(Raw(bytes(GOOD)[:20]), "nsh-vxlan-gpe")
    with counting(bench, 2) as seen:
        assert bench.exchange(bytes(cut) + bytes(40)) == []
    assert seen["dropped_truncated"] == 1


def test_counts_each_path(bench: Bench) -> None:
    frames = [
        bench.frame(NSH(spi=spi, si=si, context_header=CONTEXT) / INNER)
        for spi, si in [(1, 255), (1, 255), (1, 254), (0xFFFFFF, 2)]
    ]
    with counting(bench, 5) as seen:
        assert len(bench.exchange(*frames)) == 4
    paths = {name: n for name, n in seen.items() if n and name.startswith("forwarded_spi")}
    assert paths == {
        "forwarded_spi1_si255": 2,
        "forwarded_spi1_si254": 1,
        f"forwarded_spi{0xFFFFFF}_si2": 1,
        f"forwarded_spi{SENTINEL_SPI}_si99": 1,
    }


def test_more_paths_than_it_tracks_are_still_forwarded(fresh: Bench) -> None:
    frames = [
        fresh.frame(NSH(spi=spi, si=255, context_header=CONTEXT) / INNER) for spi in range(1, 101)
    ]
    assert len(fresh.exchange(*frames)) == 100
    counters = fresh.counted(lambda now: now["received"] == 101)
    assert counters["forwarded"] == 101
    paths = [count for name, count in counters.items() if name.startswith("forwarded_spi")]
    assert sum(paths) == len(paths) == 64


def test_leaves_other_frames_to_the_kernel(bench: Bench) -> None:
    who_has = ARP(psrc=SFF_ADDRESS, pdst=SF_ADDRESS, hwsrc=bench.sff.mac)
    passed = bench.function.counters()["passed"]
    answers = bench.exchange(bench.frame(who_has, dst="ff:ff:ff:ff:ff:ff"))
    answers = answers or bench.exchange()  # the kernel may answer after the sentinel
    assert [Ether(answer)[ARP].hwsrc for answer in answers] == [bench.sf.mac]
    assert bench.counted(lambda now: now["passed"] > passed)["passed"] > passed


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_leaves_frames_to_other_stations_alone(bench: Bench, encapsulation: str) -> None:
    stray = bench.from_sff(GOOD, encapsulation, dst="02:00:00:00:ff:ff")
    with counting(bench, 1) as seen:
        assert bench.exchange(stray) == []
    assert (seen["received"], seen["passed"]) == (1, 1)


def test_is_silent_about_tunnelled_packets(bench: Bench) -> None:
    bench.check_silence(GOOD)


def test_survives_damaged_packets(fresh: Bench) -> None:
    """Random damage: nothing crashes, nothing malformed or with SI 0 comes back."""
    chance = random.Random(0)
    originals = [
        bytes(fresh.from_sff(header / INNER, encapsulation))
        for header in HEADERS.values()
        for encapsulation in ENCAPSULATIONS
    ]
    answers = []
    for _ in range(40):
        damaged = [_damage(chance.choice(originals), chance) for _ in range(50)]
        answers += fresh.exchange(*damaged)
    assert fresh.function.problem() is None
    returned = [Ether(answer) for answer in answers]
    served = [packet[NSH] for packet in returned if packet.haslayer(NSH)]
    assert served
    for header in served:
        assert (header.ver, header.oam) == (0, 0)
        assert header.si != 0
        assert header.mdtype in (1, 2)
    counters = fresh.counted(lambda now: now["received"] >= 40)
    assert counters["received"] == counters["forwarded"] + counters["dropped"]
    assert counters["dropped"] > 0


def _damage(frame: bytes, chance: random.Random) -> bytes:
    data = bytearray(frame)
    for _ in range(chance.randint(1, 4)):
        # Mostly in the headers, never in the addresses: those decide whose frame it is.
        at = chance.randrange(12, min(len(data), 80))
        data[at] = chance.choice([0, 1, 0xFF, data[at] ^ 1 << chance.randrange(8)])
    if chance.random() < 0.3:
        del data[chance.randrange(14, len(data)) :]
    return bytes(data)
