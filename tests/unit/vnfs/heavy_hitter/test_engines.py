"""Both engines of sfc-heavy-hitter do what the model says, with golden frames and hostile ones."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from support.vnfs.heavy_hitter import (
    BY_HAND,
    ENGINES,
    Clock,
    Outcome,
    command,
    modelled,
    processed,
    read_pcap,
    write_pcap,
    write_timed_pcap,
)

from sfcperf import waiting
from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.vnfs.heavy_hitter.model import Action, FrameDropped, Settings, parse

VECTORS = json.loads((files("sfcperf.vnfs.heavy_hitter") / "vectors.json").read_text())
MAC, CLIENT = "02:00:00:00:00:01", "02:00:00:00:00:02"
PLAIN = Clock()

pytestmark = pytest.mark.parametrize(
    "engine", [*ENGINES, pytest.param(BY_HAND, marks=pytest.mark.exhaustive)]
)


_UDP = bytes(
    Ether(dst=MAC, src=CLIENT)
    / IP(src="10.0.0.1", dst="10.1.0.1")
    / UDP(sport=0, dport=80, chksum=0)
    / Raw(b"x" * 18)
)
_SOURCE_PORT_AT = 34


def udp(source_port: int = 1024) -> bytes:
    port = source_port.to_bytes(2, "big")
    return _UDP[:_SOURCE_PORT_AT] + port + _UDP[_SOURCE_PORT_AT + 2 :]


def assert_same(found: Outcome, wanted: Outcome, engine: str) -> None:
    assert found.counters == wanted.counters
    assert found.cells == wanted.cells
    assert found.reports == wanted.reports
    if engine == "native":
        assert found.frames == wanted.frames
    else:
        # Those that wait for the table are overtaken by others, but never by those of their flow.
        assert Counter(found.frames) == Counter(wanted.frames)
        assert _by_flow(found.frames) == _by_flow(wanted.frames)


def _by_flow(frames: Sequence[tuple[int, bytes]]) -> dict[Flow, list[tuple[int, bytes]]]:
    found = defaultdict(list)
    for port, frame in frames:
        with suppress(FrameDropped):  # it leaves with an SI of 1
            if (flow := parse(frame, Settings()).flow) is not None:
                found[flow].append((port, frame))
    return found


def check(
    folder: Path, engine: str, frames: Sequence[bytes], settings: Settings, clock: Clock = PLAIN
) -> Outcome:
    found = processed(folder, engine, frames, settings, clock)
    assert_same(found, modelled(frames, settings, clock), engine)
    return found


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_golden_vectors(tmp_path: Path, engine: str, name: str) -> None:
    vector = VECTORS[name]
    settings = Settings(**{**vector["settings"], "action": Action(vector["settings"]["action"])})
    frames = [bytes.fromhex(frame) for frame in vector["frames"]]
    wanted = Outcome(
        [(port, bytes.fromhex(frame)) for port, frame in vector["leaving"]],
        vector["counters"],
        [(row, column, count) for row, column, count in vector["cells"]],
        vector["reports"],
    )
    clock = Clock(**vector["clock"])
    assert_same(processed(tmp_path, engine, frames, settings, clock), wanted, engine)
    assert_same(modelled(frames, settings, clock), wanted, "native")


@pytest.mark.parametrize("threshold", [1, 1000])
def test_exactly_the_threshold_is_let_through(tmp_path: Path, engine: str, threshold: int) -> None:
    frames = [udp()] * (threshold + 50)
    found = check(tmp_path, engine, frames, Settings(threshold=threshold))
    assert len(found.frames) == found.counters["counted"] == threshold
    assert found.counters["blocked"] == 50
    assert len(found.reports) == 1


def test_background_does_not_delay_the_block(tmp_path: Path, engine: str) -> None:
    """Which lasts in the windows that follow."""
    rng, heavy = random.Random(5), udp(9)
    frames = [heavy if rng.random() < 0.3 else udp(rng.randrange(1024, 60000)) for _ in range(3000)]
    found = check(tmp_path, engine, frames, Settings(threshold=100))
    assert sum(frame == heavy for _, frame in found.frames) == 100
    assert len(found.frames) == 100 + sum(frame != heavy for frame in frames)
    clock = Clock(step_ns=10**6, window_ms=100)
    found = check(tmp_path, engine, [heavy] * 1000, Settings(threshold=10), clock)
    assert len(found.frames) == 10
    assert found.reports[0]["epoch"] == 0


def test_heavy_hitters_that_are_not_blocked_are_counted_on(tmp_path: Path, engine: str) -> None:
    found = check(tmp_path, engine, [udp()] * 500, Settings(threshold=100, action=Action.REPORT))
    assert found.counters == {"forwarded": 500, "counted": 500, "heavy": 400}
    assert {count for _, _, count in found.cells} == {500}


def test_a_heavy_hitter_is_forgotten_after_its_time(tmp_path: Path, engine: str) -> None:
    """The time of the machine, not that of the trace, whose end comes later. The sixth frame, with
    which a window begins, has those before it processed. It may take 2^32 cycles more, in seconds
    rounded up."""
    settings, clock = Settings(threshold=2), Clock(step_ns=10**6, window_ms=5)
    write_pcap(tmp_path / "all.pcap", [udp()] * 10, clock.step_ns)
    trace = (tmp_path / "all.pcap").read_bytes()
    first = len(trace) - 4 * (len(udp()) + 16)
    argv = [str(word) for word in command(engine, settings, "-", tmp_path / "out.pcap")]
    with subprocess.Popen(
        [*argv, "--window-ms", "5", "--expiry-s", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(trace[:first])
        process.stdin.flush()
        waiting.sleep(5)
        said, _ = process.communicate(trace[first:], timeout=60)
    events = [json.loads(line) for line in said.splitlines()]
    assert [each["epoch"] for each in events if each["event"] == "heavy_hitter"] == [0, 1]
    assert len(read_pcap(tmp_path / "out.pcap")) == 4


@pytest.mark.parametrize(
    ("flows", "packets", "settings", "clock"),
    [
        (7, 400, {"threshold": 1000}, Clock(step_ns=10**6, window_ms=50, first_epoch=0xFFFFFFFE)),
        # In a sketch of 2 columns, everybody is a heavy hitter.
        (50, 2000, {"rows": 8, "columns": 2, "threshold": 100}, PLAIN),
        (300, 1500, {"rows": 1, "columns": 64, "seed": 2**32 - 2}, PLAIN),
        (300, 1500, {"rows": 3, "columns": 64, "seed": 2**32 - 2}, PLAIN),
    ],
    ids=["numbers of windows wrap", "all flows collide", "one row", "three rows"],
)
def test_it_does_what_the_model_does(
    tmp_path: Path, engine: str, flows: int, packets: int, settings: dict[str, Any], clock: Clock
) -> None:
    frames = [udp(1024 + number % flows) for number in range(packets)]
    check(tmp_path, engine, frames, Settings(**settings), clock)


def test_frames_that_take_little_work_leave_as_fast_as_they_come(
    tmp_path: Path, engine: str
) -> None:
    # More of them are worked on at once than leave in a burst.
    frames = [bytes(Ether(dst=MAC, src=CLIENT) / ARP() / Raw(bytes(18)))] * 5000
    assert check(tmp_path, engine, frames, Settings()).counters["unmonitored"] == 5000


def test_conservative_update_counts_at_most_as_much(tmp_path: Path, engine: str) -> None:
    frames = [udp(1024 + number**2 % 400) for number in range(2000)]
    sizes = {"rows": 4, "columns": 64, "threshold": 10**6}
    usual = check(tmp_path, engine, frames, Settings(**sizes))
    found = check(tmp_path, engine, frames, Settings(**sizes, conservative=True))
    assert sum(count for *_, count in found.cells) < sum(count for *_, count in usual.cells)


def test_reports_that_come_faster_than_they_are_read_are_counted(
    tmp_path: Path, engine: str
) -> None:
    """A trace without windows is read at its end."""
    frames = [udp(port) for port in range(1024, 6024) for _ in range(2)]
    settings = Settings(threshold=1, columns=1 << 20)
    found = processed(tmp_path, engine, frames, settings, PLAIN)
    assert found.counters["blocked"] == 5000
    assert (len(found.reports), found.lost_reports) == (4096, 904)


def test_a_flow_for_which_the_table_has_no_room_is_found_once(tmp_path: Path, engine: str) -> None:
    """In a window, however many packets it sends."""
    frames = [udp(1024 + number % 300) for number in range(1200)]
    settings = Settings(threshold=2, action=Action.REPORT)
    found = processed(tmp_path, engine, frames, settings, PLAIN, "--flows", 64)
    wanted = modelled(frames, settings, PLAIN)
    assert found.reports == wanted.reports
    assert found.counters == wanted.counters


def test_frames_out_of_order_count_in_the_present_window(tmp_path: Path, engine: str) -> None:
    times_ms = [5, 0, 6, 8, 7, 4, 12, 9]
    write_timed_pcap(tmp_path / "in.pcap", [(ms * 10**6, udp()) for ms in times_ms])
    assert scores(engine, tmp_path / "in.pcap") == [(7, 3), (8, 3), (9, 2)]


def test_a_capture_without_frames_has_no_score(tmp_path: Path, engine: str) -> None:
    write_pcap(tmp_path / "in.pcap", [])
    assert scores(engine, tmp_path / "in.pcap") == []


def scores(engine: str, trace: Path) -> list[tuple[int, int]]:
    """Number and packets of each window of 3 ms; the first number is 7."""
    words = command(engine, Settings(action=Action.REPORT), trace, trace.with_name("out.pcap"))
    words += ["--score", "--window-ms", 3, "--first-epoch", 7]
    argv = [str(word) for word in words]
    said = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout
    events = [json.loads(line) for line in said.splitlines()]
    return [(each["epoch"], each["packets"]) for each in events if each["event"] == "score"]


@pytest.mark.parametrize("ways", [[], ["--repeat-ms", "1"]], ids=["once", "repeated"])
def test_frames_behind_those_that_are_asked_for_are_not_read(
    tmp_path: Path, engine: str, ways: list[str]
) -> None:
    trace = tmp_path / "in.pcap"
    write_pcap(trace, [udp()] * 3)
    trace.write_bytes(trace.read_bytes()[:-1])
    argv = [str(word) for word in command(engine, Settings(), trace, tmp_path / "out.pcap")]
    for frames, status in ((2, 0), (3, 1)):
        words = [*argv, *ways, "--frames", str(frames)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, "cuts off" in done.stderr) == (status, status == 1)


# --- hostile frames ---


class Hostile:
    """Frames of all kinds, cut off, changed, and with wrong headers."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def ip(self) -> Packet:
        rng = self.rng
        ports = {"sport": rng.randrange(1024, 1028), "dport": 80}
        kinds = [
            IP(src=f"10.0.0.{rng.randrange(5)}", dst="10.1.0.1") / UDP(**ports) / Raw(b"x" * 9),
            IP(src="10.0.0.1", dst="10.1.0.1", options=Raw(b"\1" * 8)) / TCP(**ports),
            IPv6(src=f"fd00::{rng.randrange(5)}", dst="fd00::1") / TCP(**ports),
            IPv6(src="fd00::1", dst="fd00::2") / UDP(**ports),
            IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(),
            IP(src="10.0.0.1", dst="10.0.0.2", proto=rng.choice([33, 50, 132, 136]))
            / Raw(b"y" * 6),
            IP(src="10.0.0.1", dst="10.0.0.2", flags="MF") / UDP(sport=5, dport=4790),
            ARP(),
        ]
        return rng.choice(kinds)

    def ethernet(self, packet: Packet) -> bytes:
        for _ in range(self.rng.choice([0, 0, 0, 1, 2, 3])):
            packet = Dot1Q(vlan=5) / packet
        return bytes(Ether(dst=MAC, src=CLIENT) / packet)

    def nsh(self) -> bytes:
        rng, packet = self.rng, self.ip()
        next_protocol, payload = 3, self.ethernet(packet)
        if not isinstance(packet, ARP) and rng.random() < 0.5:
            next_protocol, payload = 1 if isinstance(packet, IP) else 2, bytes(packet)
        md_type = rng.choice([1, 1, 1, 1, 2, 2, 3])
        words = 6 if md_type == 1 else 2 + rng.randrange(4)
        if rng.random() < 0.05:
            words = rng.randrange(64)
        flags = rng.choice([0] * 15 + [0x40, 0x20])
        si = rng.choice([255, 200, 7, 3, 2, 1, 0])
        head = bytes([flags | 0x0F, 0xC0 | words, md_type, next_protocol]) + b"\0\0\7" + bytes([si])
        return head + bytes(4 * max(0, words - 2)) + payload

    def tunnelled(self) -> bytes:
        rng = self.rng
        gpe = bytes([rng.choice([0x0C] * 9 + [0x08]), 0, 0, rng.choice([4] * 9 + [3]), 0, 0, 7, 0])
        outer = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=5, dport=4790)
        return self.ethernet(outer / Raw(gpe + self.nsh()))

    def frame(self) -> bytes:
        rng = self.rng
        kinds = [
            lambda: self.ethernet(self.ip()),
            lambda: bytes(Ether(dst=MAC, src=CLIENT, type=0x894F) / Raw(self.nsh())),
            self.tunnelled,
        ]
        frame = bytearray(rng.choice(kinds)())
        if rng.random() < 0.15:
            frame = frame[: rng.randrange(1, len(frame) + 1)]
        for _ in range(rng.choice([0, 0, 0, 0, 0, 1, 2])):
            frame[rng.randrange(len(frame))] = rng.randrange(256)
        return bytes(frame + bytes(rng.choice([0] * 9 + [11])))


@cache
def hostile_frames(seed: int) -> list[bytes]:
    """Scapy makes them slowly, and all engines get the same."""
    hostile = Hostile(seed)
    return [hostile.frame() for _ in range(700)]


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(2, 30))]
)
def test_hostile_frames(tmp_path: Path, engine: str, seed: int) -> None:
    frames = hostile_frames(seed)
    clock = Clock(step_ns=10**6, window_ms=300, first_epoch=0xFFFFFFFF)
    found = check(tmp_path, engine, frames, Settings(columns=256, threshold=10), clock)
    assert found.counters["blocked"]
    reporting = Settings(
        rows=8,
        columns=64,
        seed=2**32 - 3,
        threshold=3,
        action=Action.REPORT,
        conservative=True,
        nsh_only=True,
        reflect=True,
    )
    found = check(tmp_path, engine, frames, reporting, clock)
    marking = Settings(columns=64, threshold=1, action=Action.MARK, mark_dscp=46)
    assert check(tmp_path, engine, frames, marking, clock).counters["heavy"]
    reasons = {"truncated", "version", "md_type", "length", "oam", "si_zero", "si_exhausted"}
    assert reasons | {"encapsulation", "passed", "forwarded", "heavy"} <= found.counters.keys()


def test_every_length_of_a_frame(tmp_path: Path, engine: str) -> None:
    """What is behind the end of a frame, from an earlier one, is not read."""
    hostile = Hostile(11)
    whole = [hostile.tunnelled(), *(hostile.ethernet(hostile.ip()) for _ in range(8))]
    frames = [frame[:length] for frame in whole for length in range(1, len(frame) + 1)]
    frames = [each for pair in pairwise(frames) for each in (pair[0], whole[0])]
    check(tmp_path, engine, frames, Settings(columns=256, threshold=10**6))
