"""SFCMon in the P4 switch on bmv2: golden vectors, hashes by mmh3, banks under load."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import mmh3
import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.network.wires import eventually
from support.vnfs.bmv2_bench import NUMBERS, Bmv2Bench
from support.vnfs.sff_bench import (
    CLIENT,
    PORT_CLIENT,
    PORT_LINK,
    PORT_NSH,
    SERVER,
    on_ethernet,
    on_gpe,
)

from sfcperf.errors import InputError
from sfcperf.vnfs.sfcmon.bmv2 import banks
from sfcperf.vnfs.sfcmon.bmv2.banks import Bank
from sfcperf.vnfs.sfcmon.model import Bank as Model
from sfcperf.vnfs.sfcmon.settings import Thresholds

pytestmark = [pytest.mark.root, pytest.mark.bmv2]

GOLDEN = json.loads((files("sfcperf.vnfs.sfcmon") / "vectors.json").read_text())
CASES = {case["name"]: case for case in GOLDEN["cases"]}
SPI, SI = 42, 7
ANY = {"eval_packets": 0, "share": 0, "least_packets": 0}
"""Thresholds that every packet meets."""
KEYS = 25
WINDOWS = 20
NAMES = ["Switch.monitor.packets", "Switch.monitor.begun"]
_BEHIND = 200
"""Frames that may be on their way: fewer than queues have room for."""


class Monitor:
    """The switch, and both banks."""

    def __init__(self, bench: Bmv2Bench) -> None:
        self.bench = bench
        self.banks = [Bank(bench.registers, number) for number in (0, 1)]

    def open(self, bank: int, **settings: int) -> None:
        self.bench.control.modify([banks.window(bank, **settings)])

    def finished(self) -> int:
        """Packets that SFCMon is done with, in both banks."""
        return sum(self.bench.registers.read_all("Switch.monitor.finished"))

    def receive(self, frames: Sequence[Packet | bytes], port: int = PORT_NSH) -> None:
        """Send frames in, and wait until SFCMon is done with them."""
        before = self.finished()
        self.bench.wires[port].send(bytes(frame) for frame in frames)
        assert eventually(lambda: self.finished() >= before + len(frames))
        assert self.finished() == before + len(frames)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bmv2Bench]:
    with Bmv2Bench() as bench:
        yield bench


@pytest.fixture
def monitor(bench: Bmv2Bench) -> Monitor:
    """Both banks empty; bank 0 is open, for all packets."""
    monitor = Monitor(bench)
    monitor.open(0, **ANY)
    for bank in monitor.banks:
        bank.clear()
    return monitor


def _settings(thresholds: dict[str, int]) -> dict[str, int]:
    sizes = GOLDEN["sizes"]
    return {
        "eval_packets": thresholds["eval"],
        "share": thresholds["share"],
        "least_packets": thresholds["packets"],
        "columns": sizes["cms_columns"],
        "bits": sizes["bloom_bits"],
        "cells": sizes["iblt_cells"],
    }


@pytest.mark.parametrize(("number", "name"), [(n % 2, name) for n, name in enumerate(CASES)])
def test_golden_vectors(monitor: Monitor, name: str, number: int) -> None:
    """By turns in both banks; the other one stays empty."""
    case, bank = CASES[name], monitor.banks[number]
    monitor.open(1 - number, **ANY)
    if "before" in case:
        bank.load(case["before"])
    monitor.open(number, **_settings(case["thresholds"]))
    monitor.receive([bytes.fromhex(frame) for frame in case["frames"]])
    after = bank.contents()
    for register, wanted in case["after"].items():
        assert after[register] == wanted, register
    other = monitor.banks[1 - number].contents()
    assert not any((other["packets"], other["cms"], other["bloom"], other["iblt"]))
    assert other["unparsed"] == [0] * banks.UNPARSED_REASONS


# --- hashes ---


def _flow(chance: random.Random, version: int) -> tuple[Packet, bytes, bytes]:
    """A frame, and by hand what the specification says are its FlowID1 and FlowID2."""
    size = 4 if version == 4 else 16
    source, destination = chance.randbytes(size), chance.randbytes(size)
    ports = chance.randbytes(4)
    path = chance.randbytes(3) + bytes([chance.randrange(1, 256)])
    kind = bytes([6, version, 0, 0])
    if version == 4:
        ip = IP(src=".".join(map(str, source)), dst=".".join(map(str, destination)))
    else:
        ip = IPv6(src=source.hex(":", 2), dst=destination.hex(":", 2))
    tcp = TCP(sport=int.from_bytes(ports[:2]), dport=int.from_bytes(ports[2:]))
    header = NSH(
        spi=int.from_bytes(path[:3]), si=path[3], ttl=9, nextproto=3, context_header=bytes(16)
    )
    frame = on_ethernet(header / Ether(src=CLIENT, dst=SERVER) / ip / tcp)
    return frame, path + source, path + kind + ports + source + destination


def _reduced(seed: int, key: bytes, size: int) -> int:
    return mmh3.hash(key, seed, signed=False) * size >> 32


def _cells(key: bytes, size: int) -> list[int]:
    cells: list[int] = []
    for number in range(3):
        cell = _reduced(16 + number, key, size)
        while cell in cells:
            cell = (cell + 1) % size
        cells.append(cell)
    return cells


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("sizes", [(8192, 65536, 512), (5437, 1500, 3), (1, 1, 5)], ids=str)
def test_hashes_are_those_of_mmh3(
    monitor: Monitor, version: int, sizes: tuple[int, int, int]
) -> None:
    """The checksum is a whole hash; of the others, the places show the more the larger."""
    columns, bits, cells = sizes
    chance = random.Random(version)
    for number in range(KEYS):
        bank = monitor.banks[number % 2]
        bank.clear()
        monitor.open(number % 2, **ANY, columns=columns, bits=bits, cells=cells)
        frame, flow1, flow2 = _flow(chance, version)
        monitor.receive([frame])
        contents = bank.contents()
        assert contents["cms"] == [[row, _reduced(1 + row, flow1, columns), 1] for row in range(5)]
        assert contents["bloom"] == sorted({_reduced(9 + i, flow2, bits) for i in range(4)})
        checksum = mmh3.hash(flow2, 22, signed=False)
        size = 40 if version == 4 else 60
        key = flow2.ljust(44, b"\0").hex()
        assert contents["iblt"] == [
            [cell, 1, key, checksum, 1, size] for cell in sorted(_cells(flow2, cells))
        ]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 6))]
)
def test_random_and_damaged_frames_as_the_reference_model(monitor: Monitor, seed: int) -> None:
    chance = random.Random(seed)
    sound = [bytes(_flow(chance, version)[0]) for version in (4, 6) for _ in range(20)]
    sound += [bytes(on_gpe(_nsh(INNER))), bytes(on_gpe(_nsh(INNER, nextproto=1)))]
    frames = []
    for _ in range(400):
        frame = bytearray(chance.choice(sound))
        for _ in range(chance.choice((0, 0, 1, 2))):
            frame[chance.randrange(12, len(frame))] = chance.randrange(256)
        frames.append(bytes(frame[: chance.choice((len(frame), chance.randrange(14, len(frame))))]))
    thresholds = {"eval": 50, "share": 2**32 // 50, "packets": 3}
    model = Model(thresholds=Thresholds(**thresholds))
    for frame in frames:
        model.receive(frame)
    monitor.open(1, **_settings(thresholds))
    monitor.receive(frames)
    assert monitor.banks[1].contents() == model.registers()
    assert model.registers()["iblt"]
    assert sum(count > 0 for count in model.unparsed) >= 3


# --- what is monitored ---


def _nsh(inner: Packet, **fields: Any) -> Packet:
    values = {"spi": SPI, "si": SI, "ttl": 9, "nextproto": 3, "context_header": bytes(16)}
    return NSH(**(values | fields)) / inner


INNER = Ether(src=CLIENT, dst=SERVER) / IP(src="198.18.0.1", dst="198.18.0.2") / UDP() / Raw(b"x")


def test_what_the_classifier_encapsulates_is_monitored_with_its_path(monitor: Monitor) -> None:
    import finsy
    from finsy.p4entity import P4TableEntry

    rule = P4TableEntry(
        "rules",
        match=finsy.Match(port=NUMBERS[PORT_CLIENT]),
        action=finsy.Action("encapsulate", spi=SPI, si=SI),
        priority=1,
    )
    monitor.bench.control.insert([rule])
    try:
        monitor.receive([INNER], PORT_CLIENT)
    finally:
        monitor.bench.control.delete([rule])
    cells = monitor.banks[0].contents()["iblt"]
    assert [cell[2][:8] for cell in cells] == [f"{SPI:06x}{SI:02x}"] * 3
    # What bypasses the chain is none of it.
    monitor.bench.exchange(PORT_CLIENT, [INNER])
    assert monitor.banks[0].packets() == 1
    assert monitor.banks[0].unparsed() == [0] * banks.UNPARSED_REASONS


def test_each_encapsulation_is_the_same_flow(monitor: Monitor) -> None:
    md2 = {"nextproto": 1, "mdtype": 2, "context_header": None, "vlch": []}
    found = []
    for port, frame in (
        (PORT_NSH, on_ethernet(_nsh(INNER))),
        (PORT_LINK, on_gpe(_nsh(INNER))),
        (PORT_NSH, on_ethernet(_nsh(INNER[IP], **md2))),
    ):
        monitor.receive([frame], port)
        found.append(monitor.banks[0].contents())
        monitor.banks[0].clear()
    assert found[0]["iblt"] and found[1:] == found[:1] * 2
    # Transit is not monitored.
    monitor.bench.exchange(PORT_LINK, [on_gpe(_nsh(INNER), dst="192.0.2.7")])
    assert monitor.banks[0].packets() == 0


def test_what_the_sff_drops_is_monitored_before(monitor: Monitor) -> None:
    before = monitor.bench.drops()
    monitor.receive([on_ethernet(_nsh(INNER)), on_ethernet(_nsh(Ether() / ARP()))])
    assert monitor.bench.drops() - before == {"no_path": 2}
    assert monitor.banks[0].packets() == 1
    assert monitor.banks[0].unparsed() == [0, 0, 1, 0, 0]


# --- windows ---


def test_no_packet_is_lost_or_counted_twice_when_banks_switch(monitor: Monitor) -> None:
    """Packets of many flows, without a pause, while windows are opened, read and cleared."""
    chance = random.Random(3)
    made = [bytes(_flow(chance, version)[0]) for version in (4, 6) for _ in range(30)]
    made += [bytes(on_ethernet(_nsh(Ether() / ARP()))) for _ in range(3)]
    start, sent, over = monitor.finished(), 0, threading.Event()

    def send() -> None:
        nonlocal sent
        wire = monitor.bench.wires[PORT_NSH]
        while not over.is_set():
            # No more than the switch keeps up with.
            if sent - (finished() - start) > _BEHIND:
                continue
            wire.send(made)
            sent += len(made)

    with monitor.bench.switch.registers() as own:

        def finished() -> int:
            return sum(own.read_all("Switch.monitor.finished"))

        sender = threading.Thread(target=send)
        sender.start()
        windows = []
        try:
            for number in range(1, WINDOWS + 1):
                monitor.banks[number % 2].clear()
                monitor.open(number % 2, **ANY, bits=65536, cells=512)
                old = monitor.banks[1 - number % 2]
                old.wait_until_done()
                windows.append(old.contents())
        finally:
            over.set()
            sender.join()
        assert eventually(lambda: finished() - start == sent)
    windows.append(monitor.banks[WINDOWS % 2].contents())
    assert sum(window["packets"] + sum(window["unparsed"]) for window in windows) == sent
    assert sum(window["packets"] > 0 for window in windows) > WINDOWS / 2
    for window in windows:
        # Whole: each packet is in each row, and, a heavy hitter's all, in three cells.
        for row in range(5):
            assert sum(value for at, _, value in window["cms"] if at == row) == window["packets"]
        assert sum(cell[4] for cell in window["iblt"]) == 3 * window["packets"]


def test_a_bank_that_is_open_is_not_taken_for_done(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(banks, "_DONE_TIMEOUT_S", 0.01)
    monitor.bench.registers.write("Switch.monitor.begun", 1, 2**32 - 1)
    try:
        with pytest.raises(Exception, match="packets still update bank 1"):
            monitor.banks[1].wait_until_done()
    finally:
        monitor.bench.registers.write(
            "Switch.monitor.begun", 1, monitor.bench.registers.read("Switch.monitor.finished", 1)
        )


@pytest.mark.parametrize("size", [{"columns": 8193}, {"bits": 0}, {"cells": 513}, {"cells": 2}])
def test_sizes_that_do_not_fit_are_refused(size: dict[str, int]) -> None:
    with pytest.raises(InputError, match="allowed"):
        banks.window(0, **ANY, **size)


def test_what_thrift_refuses_is_named(bench: Bmv2Bench) -> None:
    """A refusal among several reads leaves the connection in order."""
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: bench.registers.read("nothing", 0), "nothing: the switch has no such register"),
        (lambda: bench.registers.read("Switch.monitor.packets", 2), "no such cell"),
        (lambda: bench.registers.reset_several(["nothing"]), "no such register"),
        (lambda: bench.registers.read_several([NAMES[0], "nothing", NAMES[1]]), "no such register"),
    ]
    for call, message in calls:
        with pytest.raises(Exception, match=message):
            call()
    found = bench.registers.read_several(NAMES)
    assert [len(cells) for cells in found] == [2, 2]
    assert found == [bench.registers.read_all(name) for name in NAMES]
