"""What the forwarder does with packets: both engines, both encapsulations, judged by others."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.contrib.nsh import NSH, NSHTLV
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap
from support.vnfs.forwarder_bench import SF_ADDRESS, SFF_ADDRESS, Bench

pytestmark = pytest.mark.root

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


def dissect(frame: bytes) -> Packet:
    """Scapy takes UDP port 4790 for VXLAN-GPE by itself."""
    return Ether(frame)


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_returns_the_packet_with_si_decremented(
    bench: Bench, encapsulation: str, header: str
) -> None:
    sent = bench.from_sff(HEADERS[header] / INNER, encapsulation)
    [answer] = bench.exchange(sent)
    seen = dissect(answer)

    assert (seen.src, seen.dst) == (bench.sf.mac, bench.sff.mac)
    assert (seen[NSH].spi, seen[NSH].si, seen[NSH].ttl) == (42, 254, 17)
    restored = seen[NSH].copy()
    restored.si = 255
    assert bytes(restored) == bytes(HEADERS[header] / INNER)
    if encapsulation == "nsh-vxlan-gpe":
        assert (seen[IP].src, seen[IP].dst) == (SF_ADDRESS, SFF_ADDRESS)
        assert (seen[UDP].sport, seen[UDP].dport, seen[UDP].chksum) == (50000, 4790, 0)
        assert (seen[VXLAN].vni, seen[VXLAN].NextProtocol) == (7, 4)
        checksum = seen[IP].chksum
        del seen[IP].chksum
        assert IP(bytes(seen[IP])).chksum == checksum


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_tshark_finds_nothing_wrong(bench: Bench, encapsulation: str, tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    headers = [NSH(spi=42, si=si, context_header=CONTEXT) for si in (255, 254, 2)]
    answers = bench.exchange(*(bench.from_sff(header / INNER, encapsulation) for header in headers))
    capture = tmp_path / "returned.pcap"
    wrpcap(str(capture), [dissect(answer) for answer in answers])
    argv = ["tshark", "-r", str(capture), "-o", "ip.check_checksum:TRUE", "-T", "fields"]
    for field in ("nsh.si", "_ws.malformed", "_ws.expert.severity"):
        argv += ["-e", field]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [[int(row[0], 0), row[1]] for row in rows] == [[254, ""], [253, ""], [1, ""]]
    severe = 0x600000  # PI_WARN; the inner packets carry notes of their own
    assert all(int(text) < severe for row in rows for text in row[2].split(",") if text)


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


@pytest.mark.parametrize("reason", WRONG)
@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_drops_and_counts(bench: Bench, encapsulation: str, reason: str) -> None:
    wrong = bench.from_sff(WRONG[reason], encapsulation)
    assert bench.exchange(wrong, wrong) == []
    counters = bench.counted(lambda now: now["received"] == 3)
    assert counters[f"dropped_{reason}"] == counters["dropped"] == 2
    assert (counters["received"], counters["forwarded"]) == (3, 1)  # the sentinel


@pytest.mark.parametrize(("flags", "next_protocol"), [(0x08, 4), (0x04, 4), (0x1C, 4), (0x0C, 1)])
def test_drops_vxlan_gpe_without_nsh(bench: Bench, flags: int, next_protocol: int) -> None:
    frame = bytearray(bytes(bench.from_sff(GOOD, "nsh-vxlan-gpe")))
    frame[42], frame[45] = flags, next_protocol
    assert bench.exchange(bytes(frame)) == []
    assert bench.counted(lambda now: now["received"] == 2)["dropped_encapsulation"] == 1


def test_padding_is_no_part_of_a_tunnelled_packet(bench: Bench) -> None:
    cut = bench.from_sff(Raw(bytes(GOOD)[:20]), "nsh-vxlan-gpe")
    assert bench.exchange(bytes(cut) + bytes(40)) == []
    assert bench.counted(lambda now: now["received"] == 2)["dropped_truncated"] == 1


def test_counts_each_path(bench: Bench) -> None:
    frames = [
        bench.frame(NSH(spi=spi, si=si, context_header=CONTEXT) / INNER)
        for spi, si in [(1, 255), (1, 255), (1, 254), (0xFFFFFF, 2)]
    ]
    assert len(bench.exchange(*frames)) == 4
    counters = bench.counted(lambda now: now["received"] == 5)
    paths = {name: count for name, count in counters.items() if name.startswith("forwarded_spi")}
    del paths[f"forwarded_spi{0xABCDEF}_si99"]
    assert paths == {
        "forwarded_spi1_si255": 2,
        "forwarded_spi1_si254": 1,
        f"forwarded_spi{0xFFFFFF}_si2": 1,
    }


def test_more_paths_than_it_tracks_are_still_forwarded(bench: Bench) -> None:
    frames = [
        bench.frame(NSH(spi=spi, si=255, context_header=CONTEXT) / INNER) for spi in range(1, 101)
    ]
    assert len(bench.exchange(*frames)) == 100
    counters = bench.counted(lambda now: now["received"] == 101)
    assert counters["forwarded"] == 101
    paths = [count for name, count in counters.items() if name.startswith("forwarded_spi")]
    assert sum(paths) == len(paths) == 64


def test_leaves_other_frames_to_the_kernel(bench: Bench) -> None:
    who_has = ARP(psrc=SFF_ADDRESS, pdst=SF_ADDRESS, hwsrc=bench.sff.mac)
    answers = bench.exchange(bench.frame(who_has, dst="ff:ff:ff:ff:ff:ff"))
    if not answers:  # the kernel may answer after the sentinel
        answers = bench.exchange()
    assert [dissect(answer)[ARP].hwsrc for answer in answers] == [bench.sf.mac]
    assert bench.counted(lambda now: now["passed"] > 0)["passed"] >= 1


@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_leaves_frames_to_other_stations_alone(bench: Bench, encapsulation: str) -> None:
    stray = bench.from_sff(GOOD, encapsulation, dst="02:00:00:00:ff:ff")
    assert bench.exchange(stray) == []
    counters = bench.counted(lambda now: now["received"] == 1 and now["passed"] == 1)
    assert (counters["received"], counters["passed"]) == (1, 1)


def test_is_silent_about_tunnelled_packets(bench: Bench) -> None:
    bench.check_silence(GOOD)


@pytest.mark.parametrize("seed", range(4))
def test_survives_damaged_packets(bench: Bench, seed: int) -> None:
    """Random damage: nothing crashes, nothing malformed or with SI 0 comes back."""
    chance = random.Random(seed)
    originals = [
        bytes(bench.from_sff(header / INNER, encapsulation))
        for header in HEADERS.values()
        for encapsulation in ENCAPSULATIONS
    ]
    answers = []
    for _ in range(20):
        damaged = [_damage(chance.choice(originals), chance) for _ in range(50)]
        answers += bench.exchange(*damaged)
    assert bench.function.problem() is None
    returned = [dissect(answer) for answer in answers]
    served = [packet[NSH] for packet in returned if packet.haslayer(NSH)]
    assert served
    for header in served:
        assert (header.ver, header.oam) == (0, 0)
        assert header.si != 0
        assert header.mdtype in (1, 2)
    counters = bench.counted(lambda now: now["received"] >= 20)
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
